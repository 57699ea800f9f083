-- Lists those who share a name.
--
-- KEYS  1 to 7 those of the name (`names.rs`)
-- ARGV  1 how many at most
-- Returns the limit of a semaphore or 0, the number of holders, and for some of them the record and the microseconds left; or
-- nothing if the name is not shared
local state = redis.call('GET', KEYS[1])
local FREE = '--------------------------------'
--@include now
--@include lease
--@include lone_reader
if lone and held then return { 0, 1, lone, string.format('%.0f', left) } end
if not share then return {} end
--@include shares
local from = '(' .. string.format('%.0f', share.clock)
local found = redis.call('ZRANGEBYSCORE', SHARES, from, '+inf', 'WITHSCORES', 'LIMIT', '0', ARGV[1])
local list = { share.limit or 0, redis.call('ZCOUNT', SHARES, from, '+inf') }
for i = 1, #found, 2 do
  local record = redis.call('HGET', RECORDS, found[i])
  if record then
    list[#list + 1] = record
    list[#list + 1] = string.format('%.0f', tonumber(found[i + 1]) - share.clock)
  end
end
return list
