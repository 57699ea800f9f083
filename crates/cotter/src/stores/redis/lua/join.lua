-- Included: joins the queue, or refreshes the place in it. Takes `mode`, which goes before the label in the record. If one of the two keys is missing, the other one still knows the
-- place.
--@include queue
local known = redis.call('HMGET', KEYS[3], id, '.')
local entry, beat = known[1], known[2]
local pace, since, newest = ARGV[9], now, '0000000000000000'
if beat then
  pace, since, newest = string.sub(beat, 18, 31), string.sub(beat, 33, 48), string.sub(beat, 50, 65)
  local gap = nown - tonumber(string.sub(beat, 1, 16))
  if gap < 0 or gap > tonumber(pace) + SLACK then
    pace, since = ARGV[9], now
  elseif ARGV[9] < pace then
    pace = ARGV[9]
  end
else
  local tail = redis.call('ZRANGE', KEYS[2], '-1', '-1', 'WITHSCORES')
  if tail[1] and string.sub(tail[1], 1, 1) ~= '~' then newest = tail[2] end
end
ticket = entry and string.sub(entry, 18, 33) or ARGV[10] ~= '' and redis.call('ZSCORE', KEYS[2], id)
if not ticket then
  if ARGV[10] ~= '' then redis.call('ZREM', KEYS[2], '~' .. id) end
  ticket = newest < now and now or string.format('%016.0f', tonumber(newest) + 1)
  newest = ticket
end
local added = redis.call('ZADD', KEYS[2], ticket, id) == 1
redis.call('HSET', KEYS[3], id, now .. ' ' .. ticket .. ' ' .. ARGV[2] .. ' ' .. ARGV[3] .. ' ' .. ARGV[8] .. ' '
  .. ARGV[7] .. ' ' .. mode .. ARGV[4], '.', now .. ' ' .. pace .. ' ' .. since .. ' ' .. newest)
local alone = added and redis.call('ZCARD', KEYS[2]) == 1
if added and entry and redis.call('ZREM', KEYS[2], '~' .. id) == 0
  or alone and beat and redis.call('HLEN', KEYS[3]) > 2 then
  restore()
end
if alone or not beat or string.sub(beat, 1, 7) ~= string.sub(now, 1, 7) then
  -- The time to live is a day, so refreshing it now and then is enough.
  redis.call('PEXPIRE', KEYS[2], '86400000')
  redis.call('PEXPIRE', KEYS[3], '86400000')
end
if state and not waited then
  state = '1w' .. string.sub(state, 3)
  redis.call('SET', KEYS[1], state, 'KEEPTTL')
end
