-- Releases a lock that nobody waits for with one key, which a node of a cluster allows while it gives the slot away.
--
-- KEYS  1 the lock
-- ARGV  as for `release`
-- Returns  f freed   ? only `release` can tell
local state = redis.pcall('GET', KEYS[1])
local id = ARGV[1]
local head = type(state) == 'string' and not ARGV[5] and string.sub(state, 1, 37)
--@include release_head
return '?'
