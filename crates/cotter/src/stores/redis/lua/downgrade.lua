-- Turns an exclusive grant into a reader's share without a gap, and admits the readers that wait next.
--
-- KEYS  1 to 7 those of the name (`names.rs`)
-- ARGV  1 claim id   2 retain (ms)
-- Returns the last token of the writer's block (16 digits), 00001, and the microseconds left (14 digits); or '' if the claim
-- holds nothing
local state = redis.call('GET', KEYS[1])
local FREE = '--------------------------------'
--@include now
--@include state
--@include shares
local id = ARGV[1]
if share then
  -- It was downgraded already.
  local record, ends = redis.call('HGET', RECORDS, id), tonumber(redis.call('ZSCORE', SHARES, id) or share.max)
  if not record or ends <= share.clock then return '' end
  local token = tonumber(string.sub(record, 4, 19)) + tonumber(string.sub(record, 21, 25)) - 1
  return string.format('%016.0f00001%014.0f', token, ends - share.clock)
end
if not held or holder ~= id then return '' end
local px = tonumber(ARGV[2]) + 3602000
local last = first + reserved - 1
local kind, permits = 'r', nil
--@include new_share
redis.call('UNLINK', SHARES, RECORDS)
share.fresh, share.held, share.max = false, true, nown + left
redis.call('HSET', RECORDS, id, string.sub(state, 3, 3) .. 'd ' .. string.sub(state, 39, 54) .. ' '
  .. string.sub(state, 90, 94) .. ' ' .. string.sub(state, 73, 88) .. ' 0000000000 ' .. string.sub(state, 111))
redis.call('ZADD', SHARES, share.max, id)
local keep = string.format('%.0f', math.ceil(left / 1000) + px)
--@include keep_shares
--@include compose
redis.call('SET', KEYS[1], compose(waited and 'w' or '-'), 'KEEPTTL')
if waited then
  --@include pass_on
  pass_on(last)
end
return more .. string.format('%016.0f00001%014.0f', last, left)
