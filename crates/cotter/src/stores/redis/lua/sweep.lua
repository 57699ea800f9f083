-- Included: ends the shares whose leases are over, at most 1,024 of them. Sets `held`, and `share.held`.
if share then
  --@include shares
  --@include compose
  local swept, missing = 0, false
  local first = redis.call('ZRANGE', SHARES, '0', '0', 'WITHSCORES')
  if share.max <= share.clock then
    redis.call('UNLINK', SHARES, RECORDS)
    first = {}
  end
  while first[1] and tonumber(first[2]) <= share.clock and swept < 1024 do
    local ids =
      redis.call('ZRANGEBYSCORE', SHARES, '-inf', string.format('%.0f', share.clock), 'LIMIT', '0', '256')
    if share.taken then
      for _, record in ipairs(redis.call('HMGET', RECORDS, unpack(ids))) do
        if record then share.taken = share.taken - tonumber(string.sub(record, 44, 53)) else missing = true end
      end
    end
    redis.call('ZREM', SHARES, unpack(ids))
    redis.call('HDEL', RECORDS, unpack(ids))
    swept = swept + #ids
    first = redis.call('ZRANGE', SHARES, '0', '0', 'WITHSCORES')
  end
  if first[1] and tonumber(first[2]) <= share.clock then more = '*001' end
  missing = missing or share.missing
  if share.max > share.clock and (first[1] and missing or not first[1] and (redis.call('HLEN', RECORDS) > 0
    or swept == 0 and not share.removed or not missing and share.taken and share.taken > 0)) then
    --@include mend
    first = redis.call('ZRANGE', SHARES, '0', '0', 'WITHSCORES')
    swept = swept + 1
  end
  held = first[1] ~= nil
  share.held = held
  if not held then
    if share.taken then share.taken = 0 end
    share.lead, share.clock, share.max, share.era = 0, nown, nown, nil
  end
  if not held and not (share.taken and waited) then
    -- It is free.
    state = '1' .. (waited and 'w' or '-') .. '-- ' .. FREE .. string.sub(state, 38, 110)
    if not share.removed then redis.call('SET', KEYS[1], state, 'KEEPTTL') end
    share, holder = nil, FREE
  elseif not held or share.taken and swept > 0 then
    state = compose(waited and 'w' or '-')
    if not share.removed then redis.call('SET', KEYS[1], state, 'KEEPTTL') end
  end
end
