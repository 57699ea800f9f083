-- Writes the marker of a member of a quorum: it votes from now on, and its counters begin at its clock at least.
--
-- KEYS  1 the marker, see `voting`
-- ARGV  1 the longest lease (14 digits, us)   2 the number of members (2 digits)
-- Returns  o
--@include now
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
local copy = string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)') or string.rep('-', 40)
redis.call('SET', KEYS[1], run .. ' ' .. ARGV[1] .. ' ' .. now .. ' ' .. copy .. ' ' .. ARGV[2])
return 'o'
