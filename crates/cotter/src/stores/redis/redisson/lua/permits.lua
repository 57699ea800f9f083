-- Takes permits of an expirable semaphore of Redisson: all or none.
--
-- KEYS  1 how many are free   2 the counter of its tokens   3 who holds the others, and until when   4 how many there are, according to
--       the last client of cotter that has said so
-- ARGV  1 ttl (ms)   2 channel   3 see `draw`   4 turns (5 digits)   5 the limit   6 'any', if another limit is as good, or ''
--       7... the ids of the permits
-- Returns  g first(16) turns(5)   or, if they are held already, o token(16) and the milliseconds left
--          or b and the milliseconds until one comes back, or -1 if none does by itself   or m and the limit, if it is another one
local channel, limit, wanted = ARGV[2], tonumber(ARGV[5]), #ARGV - 6
--@include ../redisson/lua/permits_free
local turns, ours, ends = '00001', 0, 0
for i = 7, #ARGV do
  ends = redis.call('ZSCORE', KEYS[3], ARGV[i])
  if ends then ours = ours + 1 end
end
if ours == wanted then
--@include ../redisson/lua/draw
  return 'o' .. number .. string.format('%.0f', ends - ms)
end
if not free then
  -- Nobody has said how many there are, or the keys are lost.
  free, told = limit - held, limit
  redis.call('SET', KEYS[1], free)
  redis.call('SET', KEYS[4], limit)
end
local all = free + held
-- A client of Redisson has set another number since.
if told and told ~= all then redis.call('DEL', KEYS[4]) end
if all ~= limit and held == 0 and told == all then
  -- Nobody uses it, and no client of Redisson has set it.
  free, all = limit, limit
  redis.call('SET', KEYS[1], limit)
  redis.call('SET', KEYS[4], limit)
end
if all ~= limit and (ARGV[6] == '' or wanted > all) then return 'm' .. string.format('%.0f', all) end
if free < wanted then
  local next = redis.call('ZRANGE', KEYS[3], 0, 0, 'WITHSCORES')[2]
  local left = next and tonumber(next) < 922337203685477 and string.format('%.0f', next - ms) or '-1'
  return 'b' .. left
end
turns = wanted == 1 and limit == 1 and ARGV[4] or turns
--@include ../redisson/lua/draw
redis.call('DECRBY', KEYS[1], wanted)
for i = 7, #ARGV do redis.call('ZADD', KEYS[3], string.format('%.0f', ms + ARGV[1]), ARGV[i]) end
local life = redis.call('PTTL', KEYS[1])
if life > 0 then redis.call('PEXPIRE', KEYS[3], life) end
return 'g' .. number .. turns
