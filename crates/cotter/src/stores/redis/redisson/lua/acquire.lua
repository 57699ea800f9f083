-- Takes a lock of Redisson if it is free. The hold count is written, never added to: a repeated request enters once.
--
-- KEYS  1 the lock   2 the counter of its tokens
-- ARGV  1 owner   2 ttl (ms)   3 turns (5 digits)
-- Returns  g first(16) turns(5)   or, if the owner holds it already, o last(16) and the milliseconds left
--          or b and the milliseconds left, if others hold it; -1 if there is no expiry
--
-- Nobody else draws tokens while the owner holds the lock, so that the count is its last one. Redisson adds one to it for each
-- of its own grants.
local left = redis.call('PTTL', KEYS[1])
if left ~= -2 then
  if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 'b' .. left end
  return 'o' .. string.format('%016.0f', tonumber(redis.call('GET', KEYS[2]) or 0)) .. left
end
local turns, last = ARGV[3], tonumber(redis.call('GET', KEYS[2]) or 0)
--@include now
--@include reserve
redis.call('SET', KEYS[2], string.format('%.0f', tonumber(number) + tonumber(turns) - 1))
redis.call('HSET', KEYS[1], ARGV[1], 1)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 'g' .. number .. turns
