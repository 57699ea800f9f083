-- Whether this member of a quorum abstains.
--
-- KEYS  1 the marker, see `voting`
-- ARGV  1 to 4 see `voting`
-- Returns  a or s as `vote`   or v if it votes
--@include now
--@include voting
return 'v'
