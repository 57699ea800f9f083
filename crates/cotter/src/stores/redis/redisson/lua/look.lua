-- What is in the key of a lock of Redisson.
--
-- KEYS  1 the lock   2 the counter of its tokens   and of a fair lock: 3 its line   4 until when those in it stay
-- Returns a list: the milliseconds left (-1 without an expiry), the last token or '', a list of fields and values, and of a fair lock
-- how many wait
local fields = redis.call('HGETALL', KEYS[1])
local seen = {redis.call('PTTL', KEYS[1]), redis.call('GET', KEYS[2]) or '', fields}
if KEYS[4] then
  --@include now
  seen[4] = redis.call('ZCOUNT', KEYS[4], string.format('(%.0f', nown / 1000), '+inf')
end
return seen
