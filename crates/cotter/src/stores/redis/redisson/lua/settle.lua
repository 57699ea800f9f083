-- Lets a read/write lock of Redisson live as long as the longest lease of its readers, and frees it if all of them have ended.
--
-- KEYS  1 the lock   2... what exists as long as the lease of each reader, once for each time that it has entered
-- ARGV  1 channel   2 message   3... the readers, each with the number of times that it has entered
-- Does nothing if others read by now: whoever leaves last does this.
if redis.call('HGET', KEYS[1], 'mode') ~= 'read' or redis.call('HLEN', KEYS[1]) ~= #ARGV / 2 then return 0 end
for i = 3, #ARGV, 2 do
  if redis.call('HGET', KEYS[1], ARGV[i]) ~= ARGV[i + 1] then return 0 end
end
local longest = 0
for i = 2, #KEYS do longest = math.max(longest, redis.call('PTTL', KEYS[i])) end
if longest > 0 then return redis.call('PEXPIRE', KEYS[1], longest) end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', ARGV[1], ARGV[2])
return 1
