-- An acquire request: grants the lock or, if it is busy, a place in its queue.
--
-- KEYS  1 to 7 those of the name (`names.rs`)
-- ARGV  1 claim id   2 ttl (14 digits, us)   3 turns (5 digits)   4 label   5 px of a held lock (ms)   6 retain (ms)
--       to join the queue as well: 7 wake-up channel   8 silence that ends a place (14 digits, us)
--       9 poll period: the next request comes within this time (14 digits, us)   10 '1' if it has a place already, else ''
-- Returns one string:
--   g first(16) turns(5) left(14)                          granted
--   q ticket(16) granted(16) ttl(14) now(16) position      in the queue; the holder's lease: since when, how long
--   b granted(16) ttl(14) now(16)                          busy
--   m limit(10), or m                                      refused: the name is in use as a semaphore, or as a lock
-- Before that an asterisk and 3 digits: so often has `advance` to be called, because this script has not granted all.
local state = redis.call('GET', KEYS[1])
--@include now
local id = ARGV[1]
local FREE = '--------------------------------'
--@include free
--@include lease
--@include sweep
if held and holder == id then
  return 'g' .. string.sub(state, 39, 54) .. string.sub(state, 90, 94) .. string.format('%014.0f', left)
end
local mode, px = 'x ', tonumber(ARGV[6]) + 3602000
local last = state and tonumber(string.sub(state, 39, 54)) + tonumber(string.sub(state, 90, 94)) - 1 or 0
local in_use = share and share.taken and ARGV[10] ~= '1'
local ticket, life
if ARGV[7] and not in_use then
  --@include join
end
if not held then
  --@include pass_on
  local mine, queued, whole
  mine, life, queued, whole = pass_on(last, ticket and id)
  if mine then
    return more .. 'g' .. mine
  end
  in_use = in_use and (life or queued)
  if not in_use and not life and not ticket and whole then
    -- The channels of all that are left in the queue have no subscribers: they keep their places and block nobody.
    local turns = ARGV[3]
    --@include reserve
    redis.call('SET', KEYS[1], (queued and '1w-- ' or '1--- ') .. id .. ' ' .. number .. ' ' .. now .. ' ' .. now
      .. ' ' .. turns .. ' ' .. ARGV[2] .. ' ' .. ARGV[4], 'PX', ARGV[5])
    return 'g' .. number .. turns .. ARGV[2]
  end
end
--@include busy
