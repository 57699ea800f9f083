-- Undoes whatever a claim has: the grant, or the place in the queue.
--
-- KEYS  1 the lock
-- ARGV  1 claim id   2 turns used (5 digits)   3 retain (ms)   4 ttl to leave behind, held by nobody (14 digits, us), or ''
-- Returns  f freed   n there was nothing of this claim
local state = redis.call('GET', KEYS[1])
local id = ARGV[1]
local FREE = '--------------------------------'
if state and ARGV[4] == '' and string.sub(state, 1, 37) == '1--- ' .. id then
  local used = ARGV[2]
  if used > string.sub(state, 90, 94) then used = string.sub(state, 90, 94) end
  redis.call('SET', KEYS[1], '1--- --------------------------------' .. string.sub(state, 38, 89) .. used
    .. string.sub(state, 95, 110), 'PX', ARGV[3])
  return 'f'
end
--@include now
--@include state
local retain = tonumber(ARGV[3])
local ours = holder == id
if not ours then
  if redis.call('ZREM', KEYS[1] .. ':q', id) == 0 then return 'n' end
  redis.call('HDEL', KEYS[1] .. ':w', id)
  if held then return 'f' end
end
local used = string.sub(state or '', 90, 94)
if ours and ARGV[2] < used then used = ARGV[2] end
if ours and ARGV[4] ~= '' then
  redis.call('SET', KEYS[1], '1' .. (waited and 'w' or '-') .. '-- ++++++++++++++++++++++++++++++++ '
    .. string.sub(state, 39, 55) .. now .. string.sub(state, 72, 89) .. used .. ' ' .. ARGV[4] .. string.sub(state, 110),
    'PX', string.format('%.0f', math.ceil(tonumber(ARGV[4]) / 1000) + 3600000 + retain))
  return 'f'
end
local last = first + (tonumber(used) or 0) - 1
--@include reserve
--@include pass_on
local winner, _, queued = pass_on(last)
if not winner and state then
  redis.call('SET', KEYS[1], (queued and '1w-- ' or '1--- ') .. FREE .. string.sub(state, 38, 89) .. used
    .. string.sub(state, 95, 110), 'PX', string.format('%.0f', retain + (queued and 3600000 or 0)))
end
return 'f'
