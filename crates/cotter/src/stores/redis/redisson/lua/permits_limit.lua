-- Changes how many permits there are, while some are held.
--
-- KEYS  see `permits`
-- ARGV  1 channel   2 the limit
local channel = ARGV[1]
--@include ../redisson/lua/permits_free
if held == 0 then return 0 end
free = redis.call('INCRBY', KEYS[1], string.format('%.0f', ARGV[2] - held - (free or 0)))
redis.call('SET', KEYS[4], ARGV[2])
if free > 0 then redis.call('PUBLISH', channel, free) end
return 1
