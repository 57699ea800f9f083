-- One question: the lock now, or a place in its queue.
--
-- KEYS  1 the lock
-- ARGV  1 claim id   2 ttl (14 digits, us)   3 turns (5 digits)   4 label   5 px of a held lock (ms)   6 retain (ms)
--       7 channel to be woken on, or '' to join no queue   8 silence that ends a place (14 digits, us)
-- Returns one string:
--   g first(16) turns(5) left(14)                  granted
--   q ticket(16) left(14) position                 in the queue; left: of the holder's lease
--   b left(14)                                     busy
local state = redis.call('GET', KEYS[1])
--@include now
local id = ARGV[1]
local FREE = '--------------------------------'
if not state or string.sub(state, 1, 37) == '1--- --------------------------------' then
  local number, turns = now, ARGV[3]
  if state then
    local last = tonumber(string.sub(state, 39, 54)) + tonumber(string.sub(state, 90, 94)) - 1
    if nown <= last then
      number, turns = string.format('%016.0f', last + 1), '00001'
    elseif turns ~= '00001' and tonumber(turns) > nown - last then
      turns = string.format('%05d', nown - last)
    end
  end
  redis.call('SET', KEYS[1], '1--- ' .. id .. ' ' .. number .. ' ' .. now .. ' ' .. now .. ' ' .. turns .. ' '
    .. ARGV[2] .. ' ' .. ARGV[4], 'PX', ARGV[5])
  return 'g' .. number .. turns .. ARGV[2]
end
--@include state
if held and holder == id then
  return 'g' .. string.sub(state, 39, 54) .. string.sub(state, 90, 94) .. string.format('%014.0f', left)
end
local retain = tonumber(ARGV[6])
local queue, waiters, ticket = KEYS[1] .. ':q', KEYS[1] .. ':w', nil
if ARGV[7] ~= '' then
  local entry = redis.call('HGET', waiters, id)
  if entry then
    ticket = string.sub(entry, 18, 33)
  else
    ticket = now
    local tail = redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')
    if tail[2] and tonumber(tail[2]) >= nown then
      ticket = string.format('%016.0f', tonumber(tail[2]) + 1)
    end
    redis.call('ZADD', queue, ticket, id)
  end
  redis.call('HSET', waiters, id, now .. ' ' .. ticket .. ' ' .. ARGV[2] .. ' ' .. ARGV[3] .. ' ' .. ARGV[8] .. ' '
    .. ARGV[7] .. ' ' .. ARGV[4])
  redis.call('PEXPIRE', queue, 86400000)
  redis.call('PEXPIRE', waiters, 86400000)
  if not waited then
    state = '1w' .. string.sub(state, 3)
    redis.call('SET', KEYS[1], state, 'KEEPTTL')
  end
end
if not held then
  local last = first + reserved - 1
  --@include reserve
  --@include pass_on
  local winner, grant, queued, whole = pass_on(last, ticket and id)
  if winner == id then
    return 'g' .. grant
  end
  if winner then
    left = tonumber(string.sub(grant, 22))
  elseif not ticket and whole then
    -- Those who are left in the queue do not listen: they keep their places and block nobody.
    local number, turns = reserve(last, ARGV[3])
    redis.call('SET', KEYS[1], (queued and '1w-- ' or '1--- ') .. id .. ' ' .. number .. ' ' .. now .. ' ' .. now
      .. ' ' .. turns .. ' ' .. ARGV[2] .. ' ' .. ARGV[4], 'PX', ARGV[5])
    return 'g' .. number .. turns .. ARGV[2]
  end
end
if left < 0 then left = 0 end
if ticket then
  return 'q' .. ticket .. string.format('%014.0f', left) .. redis.call('ZRANK', queue, id)
end
return 'b' .. string.format('%014.0f', left)
