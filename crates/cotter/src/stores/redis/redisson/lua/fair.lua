-- Takes a fair lock of Redisson if it is free and nobody is ahead, or joins its line.
--
-- KEYS  1 the lock   2 the counter of its tokens   3 its line   4 until when those in it stay
-- ARGV  1 owner   2 ttl (ms)   3 see `draw`   4 turns (5 digits)   5 what the channels of those who wait begin with
--       6 for how long one who is silent stays in line (ms), or '' to join none   7 whom to pass over if the lock is free, or ''
-- Returns  g and o as `acquire` does
--          or b, the milliseconds left as there, a space, and: if the lock is free, a hash of who is first in line;
--          or '+' if the owner is next behind the first; or nothing
local me, channel = ARGV[1], ARGV[5]
local left = redis.call('PTTL', KEYS[1])
local ours = left ~= -2 and redis.call('HEXISTS', KEYS[1], me) == 1
--@include ../redisson/lua/fair_head
if left == -2 and head and head ~= me and redis.sha1hex(head) == ARGV[7] then
  redis.call('LPOP', KEYS[3])
  redis.call('ZREM', KEYS[4], head)
  head = redis.call('LINDEX', KEYS[3], 0)
end
if left ~= -2 and not ours or left == -2 and head and head ~= me then
  if ARGV[6] ~= '' then
    local base = nown / 1000 + math.max(left, 0)
    local stays = redis.call('ZSCORE', KEYS[4], me)
    -- Without a head, the list was lost, and with it the place.
    if not stays or not head then
      local tail = redis.call('LINDEX', KEYS[3], -1)
      local after = tail and tonumber(redis.call('ZSCORE', KEYS[4], tail) or 0) or 0
      redis.call('ZADD', KEYS[4], string.format('%.0f', math.max(after, base) + ARGV[6]), me)
      redis.call('RPUSH', KEYS[3], me)
    elseif head == me and base + ARGV[6] > stays + 1000 then
      -- Redisson counts the time of each from that of the one ahead: all of them wait for as much longer.
      local more = string.format('%.0f', base + ARGV[6] - stays)
      for _, who in ipairs(redis.call('ZRANGE', KEYS[4], 0, -1)) do redis.call('ZINCRBY', KEYS[4], more, who) end
    end
  end
  if left ~= -2 then
    return 'b' .. left .. ' ' .. (redis.call('LINDEX', KEYS[3], 1) == me and '+' or '')
  end
  -- The message may have been lost, or the first one be gone.
  if ARGV[6] ~= '' then
--@include ../redisson/lua/fair_wake
  end
  return 'b0 ' .. (head and redis.sha1hex(head) or '')
end
local turns = ours and '00001' or ARGV[4]
--@include ../redisson/lua/draw
if ours then return 'o' .. number .. left end
if head or ARGV[6] ~= '' then
  redis.call('LREM', KEYS[3], 0, me)
  redis.call('ZREM', KEYS[4], me)
  if ARGV[6] ~= '' then
    for _, who in ipairs(redis.call('ZRANGE', KEYS[4], 0, -1)) do redis.call('ZINCRBY', KEYS[4], '-' .. ARGV[6], who) end
  end
end
redis.call('HSET', KEYS[1], me, 1)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 'g' .. number .. turns
