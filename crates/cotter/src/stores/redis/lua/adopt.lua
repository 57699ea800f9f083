-- Passes what one claim holds to another claim, once.
--
-- KEYS  1 to 7 those of the name (`names.rs`)
-- ARGV  1 claim id that holds it   2 claim id that shall hold it   3 its label
-- Returns  g first(16) turns(5) left(14)   or n if the first one holds nothing
local state = redis.call('GET', KEYS[1])
local FREE = '--------------------------------'
--@include now
--@include state
if share then
  --@include adopt_share
end
if not held or string.sub(state, 3, 3) == 'e' then return 'n' end
if holder == ARGV[1] then
  -- How many turns were used is not known here: the next holder gets the last token of the block.
  local number = string.format('%016.0f', first + reserved - 1)
  state = string.sub(state, 1, 5) .. ARGV[2] .. ' ' .. number .. string.sub(state, 55, 89) .. '00001'
    .. string.sub(state, 95, 110) .. ARGV[3]
  redis.call('SET', KEYS[1], state, 'KEEPTTL')
elseif holder ~= ARGV[2] then
  return 'n'
end
return 'g' .. string.sub(state, 39, 54) .. string.sub(state, 90, 94) .. string.format('%014.0f', left)
