-- Evicts the holder of a value: frees the lock at once, or replaces the value and lets the lease run out.
--
-- KEYS  1 the key
-- ARGV  1 the expected value   2 the value to replace it by   3 'now' to free the lock at once, or ''
-- Returns  f done   n the value is another   e the key never expires
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 'n' end
if ARGV[3] == 'now' then
  redis.call('DEL', KEYS[1])
elseif redis.call('PTTL', KEYS[1]) < 0 then
  return 'e'
else
  redis.call('SET', KEYS[1], ARGV[2], 'KEEPTTL')
end
return 'f'
