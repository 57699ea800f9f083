-- Included: who is first in the line of a fair lock, and has not been silent for too long. The line is the list KEYS[3]; KEYS[4] has,
-- for each who stands in it, until when (ms since 1970). Takes `me`, whose own silence ends by asking. Sets `head`.
--
-- One without a time in KEYS[4] has left: a key of the two may be lost.
--@include now
local head = redis.call('LINDEX', KEYS[3], 0)
while head and head ~= me do
  local stays = tonumber(redis.call('ZSCORE', KEYS[4], head) or 0)
  if stays > nown / 1000 then break end
  redis.call('LPOP', KEYS[3])
  redis.call('ZREM', KEYS[4], head)
  head = redis.call('LINDEX', KEYS[3], 0)
end
