-- Promises to accept no proposal for a note with a smaller number than this.
--
-- KEYS  1 the note   2 the marker, see `voting`
-- ARGV  1 number (16 digits)   2 to 5 see `voting`
-- Returns  a or s as `vote`   or a list:
--   p                        promised; nothing was accepted yet
--   p number origin before bytes   promised; this was accepted last
--   r number                 refused: this number was promised before
--   h                        a holder has written the note
--@include now
--@include voting
local promised, by, origin, before, bytes
  = unpack(redis.call('HMGET', KEYS[1], 'promised', 'by', 'revision', 'before', 'bytes'))
if by and string.sub(by, 1, 16) ~= '0000000000000000' then return {'h'} end
if promised and promised >= ARGV[1] then return {'r', promised} end
redis.call('HSET', KEYS[1], 'promised', ARGV[1])
if not by then return {'p'} end
return {'p', string.sub(by, 18), origin, before or '', bytes}
