-- Takes a lock of Redisson if it is free. The hold count is written, never added to: a repeated request enters once.
--
-- KEYS  1 the lock   2 the counter of its tokens
-- ARGV  1 owner   2 ttl (ms)   3 see `draw`   4 turns (5 digits)   5 what its field `mode` says, or ''
-- Returns  g first(16) turns(5)   or, if the owner holds it already, o token(16) and the milliseconds left
--          or b and the milliseconds left, if others hold it; -1 if there is no expiry
local left = redis.call('PTTL', KEYS[1])
local ours = left ~= -2 and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1
if left ~= -2 and not ours then return 'b' .. left end
local turns = ours and '00001' or ARGV[4]
--@include ../redisson/lua/draw
if ours then return 'o' .. number .. left end
redis.call('HSET', KEYS[1], ARGV[1], 1)
if ARGV[5] ~= '' then redis.call('HSET', KEYS[1], 'mode', ARGV[5]) end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 'g' .. number .. turns
