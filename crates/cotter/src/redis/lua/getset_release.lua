-- Deletes the key, or leaves another expiry, if it is still ours: our value, or any while our time has not passed.
--
-- KEYS  1 the key
-- ARGV  1 our expiry   2 now (ms by the client's clock), or our expiry for a claim that was never answered   3 the expiry to leave behind, or ''
-- Returns  f freed   n not ours any more
local value = redis.call('GET', KEYS[1])
if not value or (value ~= ARGV[1] and tonumber(ARGV[1]) <= tonumber(ARGV[2])) then return 'n' end
if ARGV[3] == '' then
  redis.call('DEL', KEYS[1])
else
  redis.call('SET', KEYS[1], ARGV[3])
end
return 'f'
