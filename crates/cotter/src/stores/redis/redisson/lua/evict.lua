-- Evicts whoever holds a lock of Redisson: frees the lock at once, or lets the lease run out under nobody.
--
-- KEYS  1 the lock   2 the counter of its tokens   and of a fair lock: 3 its line   4 until when those in it stay
-- ARGV  1 channel, or what those of a line begin with   2 message   3 what stands for an evicted holder   4 'now' to free the lock at once, or ''
-- Returns what `look` had returned before; an empty list if the lock is free; 'e' if it has no expiry
local fields = redis.call('HGETALL', KEYS[1])
if #fields == 0 then return {} end
local left, mode = redis.call('PTTL', KEYS[1]), redis.call('HGET', KEYS[1], 'mode')
if ARGV[4] ~= 'now' and left < 0 then return 'e' end
redis.call('DEL', KEYS[1])
if ARGV[4] == 'now' and KEYS[3] then
  local me, channel = '', ARGV[1]
--@include ../redisson/lua/fair_head
--@include ../redisson/lua/fair_wake
elseif ARGV[4] == 'now' then
  redis.call('PUBLISH', ARGV[1], ARGV[2])
else
  redis.call('HSET', KEYS[1], ARGV[3], 1)
  if mode then redis.call('HSET', KEYS[1], 'mode', 'write') end
  redis.call('PEXPIRE', KEYS[1], left)
end
return {left, redis.call('GET', KEYS[2]) or '', fields}
