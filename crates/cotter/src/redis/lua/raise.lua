-- Raises the first token of what a claim holds, and the counter with it.
--
-- KEYS  1 the lock   2 the marker, see `voting`
-- ARGV  1 claim id   2 to 4 see `voting`
-- Returns  g first(16) turns(5) left(14)   or n if the claim holds nothing   or a left(14) as `vote`
--@include now
--@include voting
local state = redis.call('GET', KEYS[1])
local FREE, id = '--------------------------------', ARGV[1]
--@include state
if share then
  --@include shares
  --@include compose
  local record, ends = redis.call('HGET', RECORDS, id), tonumber(redis.call('ZSCORE', SHARES, id) or 0)
  if not record or ends <= share.clock or string.sub(record, 1, 1) == 'e' then return 'n' end
  local number, turns = string.sub(record, 4, 19), string.sub(record, 21, 25)
  if tonumber(number) < AT_LEAST then
    local is_last, counted = number == share.number, tonumber(share.number)
    number = string.format('%016.0f', AT_LEAST)
    redis.call('HSET', RECORDS, id, string.sub(record, 1, 3) .. number .. string.sub(record, 20))
    local ends = AT_LEAST + tonumber(turns) - 1
    if is_last then
      share.number, share.turns = number, turns
    elseif ends >= counted then
      -- Others have been granted shares since. None of them may give back a number that this one has now: `give_back`
      -- compares theirs with this one, which nobody has.
      share.number = string.format('%016.0f', math.max(ends, counted + tonumber(share.turns) - 1) + 1)
      share.turns = '00001'
    end
    redis.call('SET', KEYS[1], compose(waited and 'w' or '-'), 'KEEPTTL')
  end
  return 'g' .. number .. turns .. string.format('%014.0f', ends - share.clock)
end
if not held or holder ~= id or string.sub(state, 3, 3) == 'e' then return 'n' end
if first < AT_LEAST then
  state = string.sub(state, 1, 38) .. string.format('%016.0f', AT_LEAST) .. string.sub(state, 55)
  redis.call('SET', KEYS[1], state, 'KEEPTTL')
end
return 'g' .. string.sub(state, 39, 54) .. string.sub(state, 90, 94) .. string.format('%014.0f', left)
