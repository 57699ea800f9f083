-- Writes the proposal of a proposer, unless a larger number was promised. Those who watch the note get a message.
--
-- KEYS  1 the note   2 the marker, see `voting`
-- ARGV  1 number (16 digits)   2 origin   3 the origins before it   4 bytes   5 to 8 see `voting`
-- Returns  y   or n if it is refused   or a or s as `vote`
--@include now
--@include voting
local promised, by = unpack(redis.call('HMGET', KEYS[1], 'promised', 'by'))
if by and string.sub(by, 1, 16) ~= '0000000000000000' or promised and promised > ARGV[1] then return 'n' end
redis.call('HSET', KEYS[1], 'promised', ARGV[1], 'by', '0000000000000000 ' .. ARGV[1], 'revision', ARGV[2],
  'before', ARGV[3], 'bytes', ARGV[4])
redis.pcall('PUBLISH', KEYS[1], ARGV[2])
return 'y'
