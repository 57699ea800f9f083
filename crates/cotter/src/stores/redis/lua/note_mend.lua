-- Writes a note that other members of a quorum have, over a smaller (token, sequence) only. Those who watch it get a message.
--
-- KEYS  1 the note
-- ARGV  1 token (16 digits)   2 sequence (16 digits)   3 bytes
-- Returns the new revision, or '' if the note is as new
local by = ARGV[1] .. ' ' .. ARGV[2]
local old = redis.call('HGET', KEYS[1], 'by')
if old and by <= old then return '' end
redis.call('HSET', KEYS[1], 'by', by, 'bytes', ARGV[3])
local revision = tostring(redis.call('HINCRBY', KEYS[1], 'revision', 1))
redis.pcall('PUBLISH', KEYS[1], revision)
return revision
