-- Evicts the holder: marks it, so that the lock passes on when its lease ends, or frees the lock at once.
--
-- KEYS  1 to 7 those of the name (`names.rs`)
-- ARGV  1 token of the holder to evict, or '' for all   2 'now' to free the lock at once, or ''   3 retain (ms)
-- Returns the first token (16 digits) of the evicted holder, or of one of them if the name was shared; or '' if nobody, or
-- another one, holds the lock; before it what `acquire` may have before its answer
local state = redis.call('GET', KEYS[1])
local FREE = '--------------------------------'
--@include now
--@include state
--@include sweep
if not held then return '' end
local meant = tonumber(ARGV[1])
local number, id = string.sub(state, 39, 54), holder
if share then
  --@include evict_sharers
elseif meant and (meant < first or meant >= first + reserved) then
  return ''
elseif ARGV[2] == '' then
  redis.call('SET', KEYS[1], string.sub(state, 1, 2) .. 'e' .. string.sub(state, 4), 'KEEPTTL')
  return number
else
  -- Tells the holder why it has lost the lock, for as long as it may try to extend it.
  redis.call('HSET', KEYS[6], holder, number)
  redis.call('PEXPIRE', KEYS[6], string.format('%.0f', math.ceil(left / 1000) + 1000))
end
local retain, used = tonumber(ARGV[3]), string.sub(state, 90, 94)
local px = retain + 3602000
local last = first + reserved - 1
--@include settle
return more .. number
