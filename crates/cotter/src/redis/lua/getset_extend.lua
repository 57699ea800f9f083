-- Moves the expiry on. While ours has not come, whatever stands there was written by one who lost the race.
--
-- KEYS  1 the key
-- ARGV  1 our expiry   2 the new one   3 now (all ms by the client's clock)
-- Returns  f moved   n lost
if redis.call('EXISTS', KEYS[1]) == 0 or tonumber(ARGV[1]) <= tonumber(ARGV[3]) then return 'n' end
redis.call('SET', KEYS[1], ARGV[2])
return 'f'
