-- What is in the key of a lock of Redisson.
--
-- KEYS  1 the lock   2 the counter of its tokens
-- Returns a list: the milliseconds left (-1 without an expiry), the last token or '', and a list of fields and values
local fields = redis.call('HGETALL', KEYS[1])
return {redis.call('PTTL', KEYS[1]), redis.call('GET', KEYS[2]) or '', fields}
