-- Included: draws tokens from the counter KEYS[2]. Takes `turns`, and ARGV[3], for how long the counter stays (ms), or '' if it stays
-- for good. Sets `number` and `turns` as `reserve` does.
--
-- Redisson adds one for each grant of its fenced lock, and its counter has no expiry: one that it has begun keeps none.
local last = tonumber(redis.call('GET', KEYS[2]) or 0)
--@include now
--@include reserve
local count = string.format('%.0f', tonumber(number) + tonumber(turns) - 1)
if ARGV[3] == '' or last > 0 and redis.call('PTTL', KEYS[2]) == -1 then
  redis.call('SET', KEYS[2], count)
else
  redis.call('SET', KEYS[2], count, 'PX', ARGV[3])
end
