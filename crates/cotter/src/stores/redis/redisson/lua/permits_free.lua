-- Included: takes back the permits whose leases have ended. The count of those that are free is KEYS[1]; KEYS[3] has those who hold the
-- others, and until when (ms since 1970); KEYS[4] see `permits`. Takes `channel`. Sets `ms`, the time; `free`, or false if there is no
-- count; `held`; and `told`, the number in KEYS[4], if it is one.
--@include now
local ms = math.floor(nown / 1000)
local free, told = redis.call('GET', KEYS[1]), redis.call('GET', KEYS[4])
if free and not string.find(free, '^%-?%d+$') then
  return redis.error_reply('FOREIGNKEY the count of permits is no number')
end
told = told and string.find(told, '^%d+$') and tonumber(told)
local held = redis.call('ZCARD', KEYS[3])
if not free and told and held > 0 then
  -- The count is lost. Who comes next may know another limit than those who hold.
  free = told - held
  redis.call('SET', KEYS[1], free)
end
local ended = redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', string.format('%.0f', ms))
if ended > 0 and free then
  free = redis.call('INCRBY', KEYS[1], ended)
  if free > 0 then redis.call('PUBLISH', channel, free) end
end
held = held - ended
free = free and tonumber(free)
