-- Who holds permits of an expirable semaphore of Redisson.
--
-- KEYS  see `permits`
-- Returns a list: how many there are, or -1 if nobody has said so; the last token or ''; the ids of those that are held, each with the
-- milliseconds left (-1 without an end)
--@include now
local ms, free, told = math.floor(nown / 1000), redis.call('GET', KEYS[1]), redis.call('GET', KEYS[4])
if free and not string.find(free, '^%-?%d+$') then
  return redis.error_reply('FOREIGNKEY the count of permits is no number')
end
local held = redis.call('ZRANGEBYSCORE', KEYS[3], string.format('(%.0f', ms), '+inf', 'WITHSCORES')
local ended = redis.call('ZCARD', KEYS[3]) - #held / 2
for i = 2, #held, 2 do
  local ends = tonumber(held[i])
  held[i] = ends < 922337203685477 and string.format('%.0f', ends - ms) or '-1'
end
-- Who comes next restores a count that is lost.
local all = free and free + ended + #held / 2 or told and string.find(told, '^%d+$') and told or -1
return {string.format('%.0f', all), redis.call('GET', KEYS[2]) or '', held}
