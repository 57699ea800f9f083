-- Enters a read/write lock of Redisson as a reader, unless a writer holds it.
--
-- KEYS  1 the lock   2 the counter of its tokens   3 what exists as long as the lease of this reader
-- ARGV  1 owner   2 ttl (ms)   3 see `draw`
-- Returns what `acquire` does
local left = redis.call('PTTL', KEYS[1])
if left ~= -2 and redis.call('HGET', KEYS[1], 'mode') ~= 'read' then return 'b' .. left end
local rest = redis.call('PTTL', KEYS[3])
local ours = rest > 0 and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1
local turns = '00001'
--@include ../redisson/lua/draw
if ours then return 'o' .. number .. rest end
redis.call('HSET', KEYS[1], 'mode', 'read')
redis.call('HSET', KEYS[1], ARGV[1], 1)
redis.call('SET', KEYS[3], 1, 'PX', ARGV[2])
if left ~= -1 and left < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 'g' .. number .. turns
