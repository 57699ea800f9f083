-- Identifies the holder of a key that is taken.
--
-- KEYS  1 the key
-- ARGV  1 the claim's value
-- Returns  o (the value is the claim's) or b (it is another), the milliseconds left (-1: no expiry), a space, and 15
--          hexadecimal digits that identify the value; or f if the key is free
local kind = redis.call('TYPE', KEYS[1]).ok
if kind == 'none' then return 'f' end
if kind ~= 'string' then
  return redis.error_reply('WRONGTYPE the key holds a ' .. kind)
end
local value = redis.call('GET', KEYS[1])
local whose = value == ARGV[1] and 'o' or 'b'
return whose .. redis.call('PTTL', KEYS[1]) .. ' ' .. string.sub(redis.sha1hex(value), 1, 15)
