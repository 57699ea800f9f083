-- Hands a grant from one claim id to another, once.
--
-- KEYS  1 the lock
-- ARGV  1 claim id that holds   2 claim id that shall hold   3 its label
-- Returns  g first(16) turns(5) left(14)  or  b and a lease that is over when the first one holds nothing
local state = redis.call('GET', KEYS[1])
local FREE = '--------------------------------'
--@include now
--@include state
if not held then return 'b' .. now .. '00000000000000' .. now end
if holder == ARGV[1] then
  redis.call('SET', KEYS[1], string.sub(state, 1, 5) .. ARGV[2] .. string.sub(state, 38, 110) .. ARGV[3], 'KEEPTTL')
elseif holder ~= ARGV[2] then
  return 'b' .. now .. '00000000000000' .. now
end
return 'g' .. string.sub(state, 39, 54) .. string.sub(state, 90, 94) .. string.format('%014.0f', left)
