-- Included: gives a free lock to the first in the queue that can take it.
--
-- An entry of KEYS[1]:w:  seen(16) ticket(16) ttl(14) turns(5) silence(14) channel label
-- A waiter that has been silent for too long loses its place; one that nobody listens for keeps it and is passed over.
-- `asker` is the one that asks just now: it needs no ear.
-- Returns the claim id that has it now (nil: nobody), and the digits of first token, turns and ttl of its grant; for
-- nobody, whether anybody is left in the queue and whether the walk has seen all of it.
local function pass_on(last, asker)
  local queue, waiters = KEYS[1] .. ':q', KEYS[1] .. ':w'
  local heard, from, walked, whole = {}, 0, 0, false
  while walked < 1024 do
    local ids = redis.call('ZRANGE', queue, from, walked == 0 and 0 or from + 63)
    if #ids == 0 then
      whole = true
      break
    end
    for _, id in ipairs(ids) do
      walked = walked + 1
      local entry = redis.call('HGET', waiters, id)
      if entry and tonumber(string.sub(entry, 1, 16)) > nown then
        -- The clock was stepped back: written down, or its silence would begin only when the clock has caught up.
        entry = now .. string.sub(entry, 17)
        redis.call('HSET', waiters, id, entry)
      end
      if entry and nown - tonumber(string.sub(entry, 1, 16)) <= tonumber(string.sub(entry, 56, 69)) then
        local ends = string.find(entry, ' ', 71, true)
        local channel = string.sub(entry, 71, ends - 1)
        if heard[channel] == nil then
          heard[channel] = id == asker or redis.call('PUBSUB', 'NUMSUB', channel)[2] > 0
        end
        if heard[channel] or id == asker then
          local number, turns = reserve(last, string.sub(entry, 50, 54))
          local life = string.sub(entry, 35, 48)
          redis.call('ZREM', queue, id)
          redis.call('HDEL', waiters, id)
          redis.call('SET', KEYS[1], '1w-- ' .. id .. ' ' .. number .. ' ' .. now .. ' ' .. now .. ' ' .. turns
            .. ' ' .. life .. ' ' .. string.sub(entry, ends + 1),
            'PX', string.format('%.0f', math.ceil(tonumber(life) / 1000) + 3600000 + retain))
          if id ~= asker then
            -- Last, and guarded: a refused write must not leave a message without a grant.
            redis.pcall('PUBLISH', channel, 'granted ' .. id .. ' ' .. string.sub(entry, 18, 33) .. ' '
              .. number .. ' ' .. turns .. ' ' .. life .. ' ' .. KEYS[1])
          end
          return id, number .. turns .. life
        end
        from = from + 1
      else
        redis.call('ZREM', queue, id)
        redis.call('HDEL', waiters, id)
      end
    end
  end
  return nil, nil, from > 0, whole
end
