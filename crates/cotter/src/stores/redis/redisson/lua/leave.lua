-- Leaves a read/write lock of Redisson as a reader. The last one frees it and wakes those who wait.
--
-- KEYS  1 the lock   2 what exists as long as the lease of this reader   3 the same of what keeps the rest
-- ARGV  1 owner   2 channel   3 message   4 what stands for an evicted holder   5 the rest to keep (ms), or ''   6 what keeps it
-- Returns  f freed   n not held   e the owner was evicted
--          or, if others read, the fields of the lock and their values: `settle` has to be told of them
if redis.pcall('HEXISTS', KEYS[1], ARGV[1]) ~= 1 then
  return redis.pcall('HEXISTS', KEYS[1], ARGV[4]) == 1 and 'e' or 'n'
end
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('DEL', KEYS[2])
if ARGV[5] ~= '' then
  local rest, left = tonumber(ARGV[5]), redis.call('PTTL', KEYS[1])
  redis.call('HSET', KEYS[1], ARGV[6], 1)
  if redis.call('PTTL', KEYS[3]) < rest then redis.call('SET', KEYS[3], 1, 'PX', ARGV[5]) end
  if left >= 0 and left < rest then redis.call('PEXPIRE', KEYS[1], ARGV[5]) end
end
if redis.call('HLEN', KEYS[1]) > 1 then return redis.call('HGETALL', KEYS[1]) end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', ARGV[2], ARGV[3])
return 'f'
