-- Included: the server's time. `now` is 16 digits of microseconds since 1970, `nown` the same as a number.
local time = redis.call('TIME')
local now = time[1] .. time[2]
if #now ~= 16 or #time[2] ~= 6 then
  now = string.sub('0000000000' .. time[1], -10) .. string.sub('000000' .. time[2], -6)
end
local nown = tonumber(now)
