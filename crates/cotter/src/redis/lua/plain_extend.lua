-- Compare and expire; never shortens.
--
-- KEYS  1 the key
-- ARGV  1 our value   2 ttl (ms)
-- Returns the milliseconds that are left, or '' when the value is another
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return '' end
local left = redis.call('PTTL', KEYS[1])
if left >= 0 and left < tonumber(ARGV[2]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return ARGV[2]
end
return left < 0 and ARGV[2] or string.format('%.0f', left)
