-- Included: gives a free lock to the first waiter that can take it.
--
-- A waiter that has been silent for too long loses its place. One whose channel has no subscriber keeps its place and is
-- passed over. `asker` is the claim that makes this request; it needs no channel.
-- Returns the claim id of the new holder, and the digits of first token, turns and ttl of its grant. If there is none: nil,
-- nil, whether anybody is left in the queue, and whether the walk has seen all of it.
--@include hand_over
local function pass_on(last, asker)
  -- Nearly always the first waiter can take it.
  local id = redis.call('ZRANGE', KEYS[2], '0', '0')[1]
  local entry = id and redis.call('HGET', KEYS[3], id)
  if entry then
    local ends = string.find(entry, ' ', 71, true)
    local age = nown - tonumber(string.sub(entry, 1, 16))
    if id == asker or age >= 0 and age <= tonumber(string.sub(entry, 56, 69))
      and redis.call('PUBSUB', 'NUMSUB', string.sub(entry, 71, ends - 1))[2] > 0 then
      return hand_over(id, entry, ends, last, id == asker)
    end
  end
  --@include line
  local heard, kept, walked = {}, 0, 0
  while walked < 8192 do
    local ids = in_line(kept)
    walked = walked + #ids + 1
    if #ids > 0 then
      -- At most 64 waiters without subscribers stay in the queue.
      local found, deaf = look(ids, asker, heard, 64 - kept)
      if found and string.sub(found[2], 71, 72) == '? ' then return nil, nil, true, false end
      if found then return hand_over(found[1], found[2], found[3], last, found[1] == asker) end
      kept = kept + deaf
    elseif not end_of_line(kept) then
      return nil, nil, kept > 0, true
    end
  end
  return nil, nil, true, false
end
