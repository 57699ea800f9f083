-- Included: passes a share to another claim, and answers.
--@include shares
local record, id = redis.call('HGET', RECORDS, ARGV[2]), ARGV[2]
if not record then
  record, id = redis.call('HGET', RECORDS, ARGV[1]), ARGV[1]
end
local ends = tonumber(record and redis.call('ZSCORE', SHARES, id) or share.max)
if not record or ends <= share.clock or string.sub(record, 1, 1) == 'e'
  or string.sub(record, 4, 19) <= share.mark then
  return 'n'
end
local token = string.sub(record, 4, 19)
if id == ARGV[1] then
  token = string.format('%016.0f', tonumber(token) + tonumber(string.sub(record, 21, 25)) - 1)
  redis.call('ZADD', SHARES, ends, ARGV[2])
  redis.call('HSET', RECORDS, ARGV[2], string.sub(record, 1, 3) .. token .. ' 00001' .. string.sub(record, 26, 54) .. ARGV[3])
  redis.call('ZREM', SHARES, id)
  redis.call('HDEL', RECORDS, id)
end
return 'g' .. token .. '00001' .. string.format('%014.0f', ends - share.clock)
