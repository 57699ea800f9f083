-- Whose the key is, for one that found it taken.
--
-- KEYS  1 the key
-- ARGV  1 our value
-- Returns  o left(ms)   ours      b left(ms)   somebody else's, -1 for ever      f   free
local kind = redis.call('TYPE', KEYS[1]).ok
if kind == 'none' then return 'f' end
if kind ~= 'string' then
  return redis.error_reply('WRONGTYPE a ' .. kind .. ' stands at the key')
end
local whose = redis.call('GET', KEYS[1]) == ARGV[1] and 'o' or 'b'
return whose .. redis.call('PTTL', KEYS[1])
