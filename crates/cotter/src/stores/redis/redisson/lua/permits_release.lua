-- Gives back permits of an expirable semaphore of Redisson, and tells those who wait.
--
-- KEYS  see `permits`
-- ARGV  1 channel   2 the id that stands for an evicted holder   3... the ids of the permits
-- Returns  f freed   n not held   e the holder was evicted
local channel = ARGV[1]
--@include ../redisson/lua/permits_free
local given = 0
for i = 3, #ARGV do given = given + redis.call('ZREM', KEYS[3], ARGV[i]) end
if given == 0 then return redis.call('ZSCORE', KEYS[3], ARGV[2]) and 'e' or 'n' end
-- Who waits has to come also if the count is lost: the next one restores it.
redis.call('PUBLISH', channel, free and redis.call('INCRBY', KEYS[1], given) or given)
return 'f'
