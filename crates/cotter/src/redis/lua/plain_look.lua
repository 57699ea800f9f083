-- Whose the key is, for one that found it taken.
--
-- KEYS  1 the key
-- ARGV  1 our value
-- Returns  o or b (ours, or somebody else's), the milliseconds that are left (-1 for ever), a space, and 15 hexadecimal
--          digits that tell values apart; or f   free
local kind = redis.call('TYPE', KEYS[1]).ok
if kind == 'none' then return 'f' end
if kind ~= 'string' then
  return redis.error_reply('WRONGTYPE a ' .. kind .. ' stands at the key')
end
local value = redis.call('GET', KEYS[1])
local whose = value == ARGV[1] and 'o' or 'b'
return whose .. redis.call('PTTL', KEYS[1]) .. ' ' .. string.sub(redis.sha1hex(value), 1, 15)
