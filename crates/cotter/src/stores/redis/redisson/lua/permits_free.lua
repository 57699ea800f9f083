-- Included: takes back the permits whose leases have ended. The count of those that are free is KEYS[1]; KEYS[3] has those who hold the
-- others, and until when (ms since 1970). Takes `channel`. Sets `ms`, the time; `free`, or false if there is no count; and `held`.
--@include now
local ms = math.floor(nown / 1000)
local free = redis.call('GET', KEYS[1])
if free and not tonumber(free) then return redis.error_reply('FOREIGNKEY the count of permits is no number') end
local ended = redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', string.format('%.0f', ms))
if ended > 0 and free then
  free = redis.call('INCRBY', KEYS[1], ended)
  if free > 0 then redis.call('PUBLISH', channel, free) end
end
local held = redis.call('ZCARD', KEYS[3])
free = free and tonumber(free)
