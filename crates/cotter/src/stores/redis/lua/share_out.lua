-- Included: grants shares to waiters.
--@include shares
--@include compose
-- The number of shares that one script grants. The server does nothing else while a script runs.
local MAX_GRANTS = 256
local granted = {}

-- Reserves a share for a waiter, if the name can be shared with it.
local function admit(id, entry, ends, last, asks)
  local kind = string.sub(entry, ends + 1, ends + 1)
  if kind ~= 'r' and kind ~= 's' then return false end
  local permits = kind == 's' and tonumber(string.sub(entry, ends + 2, ends + 11)) or nil
  if not share or not share.held and share.kind ~= kind then
    --@include new_share
    share.limit = permits and tonumber(string.sub(entry, ends + 12, ends + 21))
  end
  if share.kind ~= kind then return false end
  if permits and permits > share.limit then
    -- The limit was lowered: it is refused as soon as it asks again.
    redis.pcall('PUBLISH', string.sub(entry, 71, ends - 1), 'again ' .. id)
    return 'passed over'
  end
  if permits and permits > share.limit - share.taken then return false end
  if #granted == MAX_GRANTS then
    more = string.format('*%03d', math.min(math.ceil(redis.call('ZCARD', KEYS[2]) / MAX_GRANTS), 999))
    return false
  end
  if #granted > 0 then last = tonumber(share.number) + tonumber(share.turns) - 1 end
  local turns = string.sub(entry, 50, 54)
  --@include reserve
  local life = string.sub(entry, 35, 48)
  if not asks and life > SHORT then life = SHORT end
  share.number, share.turns, share.held = number, turns, true
  if permits then share.taken = share.taken + permits end
  granted[#granted + 1] = {
    id = id,
    grant = number .. turns .. life,
    life = life,
    record = '-- ' .. number .. ' ' .. turns .. ' ' .. now .. ' ' .. string.format('%010.0f', permits or 0) .. ' '
      .. string.sub(entry, ends + (permits and 23 or 3)),
    channel = not asks and string.sub(entry, 71, ends - 1),
    message = 'granted ' .. id .. ' ' .. string.sub(entry, 18, 33) .. ' ' .. number .. ' ' .. turns .. ' ' .. life .. ' '
      .. KEYS[1],
  }
  return true
end

-- Writes what was reserved, and sends the messages. Returns as `pass_on`.
local function share_out()
  local ends, records, ids, mine = {}, {}, {}, nil
  if share.fresh then redis.call('UNLINK', SHARES, RECORDS) end
  -- Who takes a share beside these must not remove theirs.
  share.fresh = nil
  for i, one in ipairs(granted) do
    ends[2 * i - 1], ends[2 * i] = share.clock + tonumber(one.life), one.id
    records[2 * i - 1], records[2 * i] = one.id, one.record
    ids[i] = one.id
    share.max = math.max(share.max, ends[2 * i - 1])
    if not one.channel then mine = one.grant end
  end
  redis.call('ZADD', SHARES, unpack(ends))
  redis.call('HSET', RECORDS, unpack(records))
  local keep = string.format('%.0f', math.ceil((share.max - share.clock) / 1000) + tonumber(px))
  --@include keep_shares
  redis.call('SET', KEYS[1], compose('w'), 'PX', keep)
  redis.call('ZREM', KEYS[2], unpack(ids))
  redis.call('HDEL', KEYS[3], unpack(ids))
  for _, one in ipairs(granted) do
    -- Last, and guarded: if a write is refused, there must be no message without a grant.
    if one.channel then redis.pcall('PUBLISH', one.channel, one.message) end
  end
  return mine, granted[#granted].life
end
