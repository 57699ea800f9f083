-- Included: gives what is free to the first waiters that can take it: a lock to one, or shares to several.
--
-- A waiter that has been silent for too long loses its place. One whose channel has no subscriber keeps its place and is
-- passed over. `asker` is the claim that makes this request; it needs no channel.
-- Returns the digits of first token, turns and ttl if something was granted to `asker`, and the digits of the last ttl that
-- was granted to anybody; whether anybody is left in the queue; and whether the walk has seen all of it.
--@include hand_over
local function pass_on(last, asker)
  -- Nearly always it is a lock, and the first waiter can take it.
  local id = not share and redis.call('ZRANGE', KEYS[2], '0', '0')[1]
  local entry = id and redis.call('HGET', KEYS[3], id)
  if entry then
    local ends = string.find(entry, ' ', 71, true)
    local age = nown - tonumber(string.sub(entry, 1, 16))
    if string.byte(entry, ends + 1) == 120 and (id == asker or age >= 0 and age <= tonumber(string.sub(entry, 56, 69))
      and redis.call('PUBSUB', 'NUMSUB', string.sub(entry, 71, ends - 1))[2] > 0) then
      return hand_over(id, entry, ends, last, id == asker)
    end
  end
  --@include share_out
  --@include line
  -- Most walks are short, so it begins with few.
  local heard, kept, walked, whole, many = {}, 0, 0, false, 8
  while walked < 8192 and not whole do
    local ids = in_line(kept + #granted, many)
    many = math.min(many * 2, 256)
    walked = walked + #ids + 1
    if #ids > 0 then
      -- At most 64 waiters without subscribers stay in the queue.
      local found, deaf = look(ids, asker, heard, 64 - kept, last)
      kept = kept + deaf
      if found and not (share and share.held) and string.byte(found[2], found[3] + 1) == 120 then
        return hand_over(found[1], found[2], found[3], last, found[1] == asker)
      end
      if found then break end
    else
      whole = not end_of_line(kept + #granted)
    end
  end
  if #granted == 0 then return nil, nil, kept > 0 or not whole, whole end
  local mine, life = share_out()
  return mine, life, kept > 0 or not whole, whole
end
