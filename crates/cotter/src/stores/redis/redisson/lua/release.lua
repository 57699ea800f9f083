-- Frees a lock of Redisson and wakes those who wait; or keeps the rest of a lease, of which they hear as well.
--
-- KEYS  1 the lock
-- ARGV  1 owner   2 channel   3 message   4 what stands for an evicted holder   5 the rest to keep (ms), or ''
--       6 what holds it until then   7 what its field `mode` says then, or ''
-- Returns  f freed   n not held   e the owner was evicted
if redis.pcall('HEXISTS', KEYS[1], ARGV[1]) ~= 1 then
  return redis.pcall('HEXISTS', KEYS[1], ARGV[4]) == 1 and 'e' or 'n'
end
redis.call('DEL', KEYS[1])
if ARGV[5] ~= '' then
  redis.call('HSET', KEYS[1], ARGV[6], 1)
  if ARGV[7] ~= '' then redis.call('HSET', KEYS[1], 'mode', ARGV[7]) end
  redis.call('PEXPIRE', KEYS[1], ARGV[5])
end
redis.call('PUBLISH', ARGV[2], ARGV[3])
return 'f'
