-- Compare and delete, or compare and leave behind.
--
-- KEYS  1 the key
-- ARGV  1 our value   2 ms to leave behind, or ''   3 the value to leave
-- Returns  f freed   n there is none   or  o and what stands there, of whatever bytes (nothing for what is no string)
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
