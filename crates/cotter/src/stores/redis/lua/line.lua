-- Included: walking along the queue.
--@include queue
--@include silence
local function in_line(from, many)
  local ids = redis.call('ZRANGE', KEYS[2], from, from + many - 1)
  while #ids > 0 and string.sub(ids[#ids], 1, 1) == '~' do ids[#ids] = nil end
  return ids
end

-- Makes a new record for a waiter whose record was lost. Whether it is alive shows with its next request; until then nobody
-- passes it.
local function unknown(id)
  local entry = now .. ' ' .. redis.call('ZSCORE', KEYS[2], id) .. ' 00000000000000 00001 00000006000000 ? '
  redis.call('HSET', KEYS[3], id, entry)
  return entry
end

-- Takes waiters out of the queue whose channels have no subscribers. They return with their next requests.
local function set_aside(ids, entries)
  local places = {}
  for i, id in ipairs(ids) do
    places[2 * i - 1] = ASIDE + tonumber(string.sub(entries[id], 1, 16)) + tonumber(string.sub(entries[id], 56, 69))
    places[2 * i] = '~' .. id
  end
  redis.call('ZREM', KEYS[2], unpack(ids))
  redis.call('ZADD', KEYS[2], unpack(places))
end

-- Walks to the first waiter that cannot be passed over, and that gets no share. Returns its claim id, its entry and the end
-- of the channel in that entry; and how many waiters without subscribers stay in the queue, at most `room`.
local function look(ids, asker, heard, room, last)
  local entries, gone, deaf, stay, found = redis.call('HMGET', KEYS[3], unpack(ids)), {}, {}, 0, nil
  for i, id in ipairs(ids) do
    local entry, silent = entries[i], false
    if not entry then
      entry = unknown(id)
    elseif id ~= asker then
      silent, entry = is_silent(id, entry)
    end
    local ends = string.find(entry, ' ', 71, true)
    local channel = string.sub(entry, 71, ends - 1)
    if not silent and heard[channel] == nil then
      heard[channel] = channel == '?' or redis.call('PUBSUB', 'NUMSUB', channel)[2] > 0
    end
    if silent then
      gone[#gone + 1] = id
    elseif id == asker or heard[channel] then
      local admitted = admit(id, entry, ends, last, id == asker)
      if not admitted then
        found = { id, entry, ends }
        break
      end
      if admitted ~= true then stay = stay + 1 end
    elseif stay < room then
      stay = stay + 1
    else
      deaf[#deaf + 1], entries[id] = id, entry
    end
  end
  if #gone > 0 then
    redis.call('ZREM', KEYS[2], unpack(gone))
    redis.call('HDEL', KEYS[3], unpack(gone))
  end
  if #deaf > 0 then set_aside(deaf, entries) end
  return found, stay
end

-- Forgets waiters that were set aside and have been silent for too long. True if there is a queue after all.
local function end_of_line(kept)
  local places = redis.call('ZRANGE', KEYS[2], kept, kept + 999, 'WITHSCORES')
  local silent, known = {}, {}
  for i = 1, #places, 2 do
    if tonumber(places[i + 1]) > ASIDE + nown then break end
    silent[#silent + 1], known[#known + 1] = places[i], string.sub(places[i], 2)
  end
  if #silent > 0 then
    redis.call('ZREM', KEYS[2], unpack(silent))
    redis.call('HDEL', KEYS[3], unpack(known))
  end
  if kept > 0 or #places > 0 then return false end
  if restore() > 0 then return true end
  redis.call('DEL', KEYS[3])
  return false
end
