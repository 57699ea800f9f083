-- Compare-and-set by revision. Those who watch the note get a message.
--
-- KEYS  1 the note
-- ARGV  1 the expected revision, 0 if there is no note   2 bytes
-- Returns the new revision, or '' if the revision is another
if (redis.call('HGET', KEYS[1], 'revision') or '0') ~= ARGV[1] then return '' end
redis.call('HSET', KEYS[1], 'by', '0000000000000000 0000000000000000', 'bytes', ARGV[2])
local revision = tostring(redis.call('HINCRBY', KEYS[1], 'revision', 1))
redis.pcall('PUBLISH', KEYS[1], revision)
return revision
