-- A claim of a quorum whose members speak the plain protocol: `SET NX PX`, beside a count of what was granted so.
--
-- KEYS  1 the key of the lock   2 the count of its name   3 the marker, see `voting`
-- ARGV  1 claim id, also the value   2 ttl (14 digits, us)   3 turns (5 digits)   4 retain (ms)   5 to 8 see `voting`
-- Returns  g first(16) turns(5) left(14)   or b if others hold it   or a, l or s as `vote`
--
-- The count is  first(16) turns(5) claim id  of the last grant. Other clients of these servers know nothing of it.
--@include now
--@include voting
if ARGV[2] > longest then return 'l' .. longest end
local id, turns, count = ARGV[1], ARGV[3], redis.call('GET', KEYS[2]) or ''
local last = tonumber(string.sub(count, 1, 16)) or 0
if last > 0 then last = last + tonumber(string.sub(count, 17, 21)) - 1 end
local value = redis.pcall('GET', KEYS[1])
if value == id and string.sub(count, 22) == id then
  return 'g' .. string.sub(count, 1, 21) .. string.format('%014.0f', redis.call('PTTL', KEYS[1]) * 1000)
end
-- The error says what kind of key it is.
if type(value) == 'table' then return value end
if value then return 'b' end
--@include reserve
redis.call('SET', KEYS[1], id, 'PX', string.format('%.0f', math.ceil(tonumber(ARGV[2]) / 1000)))
--@include plain_count
return 'g' .. number .. turns .. ARGV[2]
