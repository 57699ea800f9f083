-- Evicts all who hold permits of an expirable semaphore of Redisson: takes the permits back at once, or when their leases end.
--
-- KEYS  see `permits`
-- ARGV  1 channel   2 the id that stands for an evicted holder   3 'now' to take them back at once, or ''
-- Returns how many were evicted, or 'e' if one of them has a permit without an end
local channel = ARGV[1]
--@include ../redisson/lua/permits_free
local holders = redis.call('ZRANGE', KEYS[3], 0, -1, 'WITHSCORES')
if held == 0 then return 0 end
if ARGV[3] ~= 'now' and tonumber(holders[#holders]) >= 922337203685477 then return 'e' end
redis.call('DEL', KEYS[3])
if ARGV[3] == 'now' then
  redis.call('PUBLISH', channel, free and redis.call('INCRBY', KEYS[1], held) or held)
  return held
end
-- The first has the id that everybody looks for, and ends last.
for i = 2, #holders, 2 do
  redis.call('ZADD', KEYS[3], holders[i], i == #holders and ARGV[2] or ARGV[2] .. i)
end
return held
