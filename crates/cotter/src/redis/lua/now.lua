-- Included: the server's time. `now` is 16 digits of microseconds since 1970, `nown` the same as a number.
local time = redis.call('TIME')
local now = string.sub('0000000000' .. time[1], -10) .. string.sub('000000' .. time[2], -6)
local nown = tonumber(now)
