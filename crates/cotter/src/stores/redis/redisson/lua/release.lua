-- Frees a lock of Redisson and wakes those who wait; or keeps the rest of a lease, of which they hear as well.
--
-- KEYS  1 the lock
-- ARGV  1 owner   2 channel   3 what stands for an evicted holder   4 the rest to keep (ms), or ''   5 what holds it until then
-- Returns  f freed   n not held   e the owner was evicted
if redis.pcall('HEXISTS', KEYS[1], ARGV[1]) ~= 1 then
  return redis.pcall('HEXISTS', KEYS[1], ARGV[3]) == 1 and 'e' or 'n'
end
redis.call('DEL', KEYS[1])
if ARGV[4] ~= '' then
  redis.call('HSET', KEYS[1], ARGV[5], 1)
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
end
redis.call('PUBLISH', ARGV[2], '0')
return 'f'
