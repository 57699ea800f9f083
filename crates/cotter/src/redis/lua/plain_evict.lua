-- Takes the lock away from the holder of a value: frees it at once, or writes over the value and lets the lease run out.
--
-- KEYS  1 the key
-- ARGV  1 the value that was seen   2 what to write over it   3 'now' or ''
-- Returns  f done   n another value stands there   e it never expires
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 'n' end
if ARGV[3] == 'now' then
  redis.call('DEL', KEYS[1])
elseif redis.call('PTTL', KEYS[1]) < 0 then
  return 'e'
else
  redis.call('SET', KEYS[1], ARGV[2], 'KEEPTTL')
end
return 'f'
