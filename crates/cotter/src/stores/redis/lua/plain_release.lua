-- Compare-and-delete; or compare-and-set, to keep the rest of a lease.
--
-- KEYS  1 the key
-- ARGV  1 the claim's value   2 the rest to keep (ms), or ''   3 the value for that time
-- Returns  f freed   n there is no value   or  o and the other value, of arbitrary bytes (empty if it is not a string)
local value = redis.pcall('GET', KEYS[1])
if not value then return 'n' end
if type(value) == 'table' then return 'o' end
if value ~= ARGV[1] then return 'o' .. value end
if ARGV[2] == '' then
  redis.call('DEL', KEYS[1])
else
  redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[2])
end
return 'f'
