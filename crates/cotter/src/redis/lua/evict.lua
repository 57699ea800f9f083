-- Evicts the holder: marks it, so that the lock passes on when its lease ends, or frees the lock at once.
--
-- KEYS  1 the lock   2 its queue   3 its waiters
-- ARGV  1 token of the holder to evict, or '' for any   2 'now' to free the lock at once, or ''   3 retain (ms)
-- Returns the first token (16 digits) of the evicted holder, or '' if nobody, or another one, holds the lock
local state = redis.call('GET', KEYS[1])
local FREE = '--------------------------------'
--@include now
--@include state
local meant = tonumber(ARGV[1])
if not held or (meant and (meant < first or meant >= first + reserved)) then return '' end
local number = string.sub(state, 39, 54)
if ARGV[2] == '' then
  redis.call('SET', KEYS[1], string.sub(state, 1, 2) .. 'e' .. string.sub(state, 4), 'KEEPTTL')
  return number
end
-- Tells the holder why it has lost the lock, for as long as it may try to extend it.
redis.call('SET', KEYS[1] .. ':e', holder, 'PX', string.format('%.0f', math.ceil(left / 1000) + 1000))
local retain = tonumber(ARGV[3])
local px = retain + 3602000
local last = first + reserved - 1
--@include pass_on
local winner, _, queued = pass_on(last)
if not winner then
  redis.call('SET', KEYS[1], (queued and '1w-- ' or '1--- ') .. FREE .. string.sub(state, 38, 110), 'PX',
    string.format('%.0f', retain + (queued and 3600000 or 0)))
end
return number
