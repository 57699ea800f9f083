-- A request of a quorum for a share.
--
-- KEYS and ARGV as for `vote`, with ARGV[4] as for `share`. Returns as `vote`.
--@include now
--@include voting
if ARGV[2] > longest then return 'l' .. longest end
--@include share
