-- Raises the first token of what a claim holds by the plain protocol, and the count with it.
--
-- KEYS and ARGV as for `plain_vote`; the ttl and the turns are not used.
-- Returns  g first(16) turns(5) left(14)   or n if the claim holds nothing   or a or s as `vote`
--@include now
--@include voting
local id, count = ARGV[1], redis.call('GET', KEYS[2]) or ''
if redis.pcall('GET', KEYS[1]) ~= id or string.sub(count, 22) ~= id then return 'n' end
local number, turns = string.sub(count, 1, 16), string.sub(count, 17, 21)
if tonumber(number) < AT_LEAST then
  number = string.format('%016.0f', AT_LEAST)
  --@include plain_count
end
return 'g' .. number .. turns .. string.format('%014.0f', redis.call('PTTL', KEYS[1]) * 1000)
