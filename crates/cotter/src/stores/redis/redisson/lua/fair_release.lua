-- Frees a fair lock of Redisson, or leaves its line, and tells whoever is first.
--
-- KEYS  see `fair`
-- ARGV  1 owner   2 what the channels of those who wait begin with   3 for how long one who is silent stays in line (ms)
--       4 what stands for an evicted holder   5 the rest to keep (ms), or ''   6 what holds it until then
-- Returns  f freed   n not held   e the owner was evicted
local me, channel = ARGV[1], ARGV[2]
local answer = 'f'
if redis.pcall('HEXISTS', KEYS[1], me) == 1 then
  redis.call('DEL', KEYS[1])
  if ARGV[5] ~= '' then
    redis.call('HSET', KEYS[1], ARGV[6], 1)
    redis.call('PEXPIRE', KEYS[1], ARGV[5])
  end
else
  answer = redis.pcall('HEXISTS', KEYS[1], ARGV[4]) == 1 and 'e' or 'n'
  if not redis.call('ZSCORE', KEYS[4], me) then return answer end
  -- Redisson counts the time of each from that of the one ahead.
  local behind = false
  for _, who in ipairs(redis.call('LRANGE', KEYS[3], 0, -1)) do
    if behind then redis.call('ZINCRBY', KEYS[4], '-' .. ARGV[3], who) end
    behind = behind or who == me
  end
  redis.call('LREM', KEYS[3], 0, me)
  redis.call('ZREM', KEYS[4], me)
  if redis.call('EXISTS', KEYS[1]) == 1 then return answer end
end
--@include ../redisson/lua/fair_head
--@include ../redisson/lua/fair_wake
return answer
