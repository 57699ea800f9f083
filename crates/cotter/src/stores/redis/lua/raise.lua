-- Raises the first token of what a claim holds, and the counter with it. Those who share the name with it may have that number, or
-- have had it: then it gets the next one that nobody has had.
--
-- KEYS  1 to 7 those of the name (`names.rs`)   8 the marker, see `voting`
-- ARGV  1 claim id   2 to 5 see `voting`
-- Returns  g first(16) turns(5) left(14)   or n if the claim holds nothing   or a or s as `vote`
--@include now
--@include voting
local state = redis.call('GET', KEYS[1])
local FREE, id = '--------------------------------', ARGV[1]
--@include state
if share then
  --@include shares
  --@include compose
  local record, ends = redis.call('HGET', RECORDS, id), tonumber(redis.call('ZSCORE', SHARES, id) or 0)
  if not record or ends <= share.clock or string.sub(record, 1, 1) == 'e' or string.sub(record, 4, 19) <= share.mark then
    return 'n'
  end
  local number, turns = string.sub(record, 4, 19), string.sub(record, 21, 25)
  if tonumber(number) < AT_LEAST then
    local first = AT_LEAST
    if number ~= share.number then first = math.max(first, tonumber(share.number) + tonumber(share.turns)) end
    number = string.format('%016.0f', first)
    redis.call('HSET', RECORDS, id, string.sub(record, 1, 3) .. number .. string.sub(record, 20))
    share.number, share.turns = number, turns
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
