-- An acquire request: grants the lock or, if it is busy, a place in its queue.
--
-- KEYS  1 the lock   2 its queue   3 its waiters
-- ARGV  1 claim id   2 ttl (14 digits, us)   3 turns (5 digits)   4 label   5 px of a held lock (ms)   6 retain (ms)
--       to join the queue as well: 7 wake-up channel   8 silence that ends a place (14 digits, us)
--       9 poll period: the next request comes within this time (14 digits, us)   10 '1' if it has a place already, else ''
-- Returns one string:
--   g first(16) turns(5) left(14)                          granted
--   q ticket(16) granted(16) ttl(14) now(16) position      in the queue; the holder's lease: since when, how long
--   b granted(16) ttl(14) now(16)                          busy
local state = redis.call('GET', KEYS[1])
--@include now
local id = ARGV[1]
local FREE = '--------------------------------'
if state and string.sub(state, 1, 37) == '1--- --------------------------------'
  or not state and #redis.call('ZRANGE', KEYS[2], '0', '0') == 0 then
  local last, turns = 0, ARGV[3]
  if state then
    last = tonumber(string.sub(state, 39, 54)) + tonumber(string.sub(state, 90, 94)) - 1
    if ARGV[10] == '1' then
      -- It was set aside while its channel had no subscriber.
      redis.call('ZREM', KEYS[2], id, '~' .. id)
      redis.call('HDEL', KEYS[3], id)
    end
  end
  --@include reserve
  redis.call('SET', KEYS[1], '1--- ' .. id .. ' ' .. number .. ' ' .. now .. ' ' .. now .. ' ' .. turns .. ' '
    .. ARGV[2] .. ' ' .. ARGV[4], 'PX', ARGV[5])
  return 'g' .. number .. turns .. ARGV[2]
end
--@include lease
if held and holder == id then
  return 'g' .. string.sub(state, 39, 54) .. string.sub(state, 90, 94) .. string.format('%014.0f', left)
end
local ticket
if ARGV[7] then
  --@include join
end
local lease = held and string.sub(state, 56, 71) .. string.sub(state, 96, 109) or now .. '00000000000000'
if not held then
  local px = tonumber(ARGV[6]) + 3602000
  local last = state and tonumber(string.sub(state, 39, 54)) + tonumber(string.sub(state, 90, 94)) - 1 or 0
  --@include pass_on
  local winner, grant, queued, whole = pass_on(last, ticket and id)
  if winner == id then
    return 'g' .. grant
  end
  if winner then
    lease = now .. string.sub(grant, 22)
  elseif not ticket and whole then
    -- The channels of all that are left in the queue have no subscribers: they keep their places and block nobody.
    local turns = ARGV[3]
    --@include reserve
    redis.call('SET', KEYS[1], (queued and '1w-- ' or '1--- ') .. id .. ' ' .. number .. ' ' .. now .. ' ' .. now
      .. ' ' .. turns .. ' ' .. ARGV[2] .. ' ' .. ARGV[4], 'PX', ARGV[5])
    return 'g' .. number .. turns .. ARGV[2]
  end
end
if ticket then
  return 'q' .. ticket .. lease .. now .. (redis.call('ZRANK', KEYS[2], id) or 0)
end
return 'b' .. lease .. now
