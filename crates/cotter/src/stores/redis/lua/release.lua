-- Releases what a claim has: the grant, or the place in the queue.
--
-- KEYS  1 to 7 those of the name (`names.rs`)
-- ARGV  1 claim id   2 turns used (5 digits)   3 retain (ms)   4 px of a lock that is handed over (ms; optional)
--       5 the rest of the lease to keep, held by nobody (14 digits, us; optional)
-- Returns  f freed   n the claim has nothing   e the claim has nothing because it was evicted
local state = redis.pcall('GET', KEYS[1])
local id = ARGV[1]
local FREE = '--------------------------------'
local head = type(state) == 'string' and not ARGV[5] and string.sub(state, 1, 37)
--@include release_head
if state and (type(state) == 'table' or #state < 110 or string.sub(state, 1, 1) ~= '1') then
  -- Another program has overwritten the state: the claim has nothing.
  redis.call('ZREM', KEYS[2], id, '~' .. id)
  redis.call('HDEL', KEYS[3], id)
  return 'n'
end
--@include now
if state and ARGV[5] then
  --@include unfold
end
--@include lease
local retain = tonumber(ARGV[3])
local px = ARGV[4] or retain + 3602000
local used = string.sub(state or '', 90, 94)
local ours, answer = holder == id, 'f'
local shared = share ~= nil
if shared then
  --@include give_back
end
if not ours then
  local places = redis.call('ZREM', KEYS[2], id, '~' .. id) + redis.call('HDEL', KEYS[3], id)
  if places == 0 then answer = redis.call('HGET', KEYS[6], id) and 'e' or 'n' end
  -- Without a state the lock was deleted, and nobody else will hand it over to the next waiter.
  if held and not shared or state and not waited then return answer end
elseif not shared and ARGV[2] < used then
  used = ARGV[2]
end
if ours and ARGV[5] and not shared then
  redis.call('SET', KEYS[1], '1' .. (waited and 'w' or '-') .. '-- ++++++++++++++++++++++++++++++++ '
    .. string.sub(state, 39, 55) .. now .. string.sub(state, 72, 89) .. used .. ' ' .. ARGV[5] .. string.sub(state, 110),
    'PX', math.ceil(tonumber(ARGV[5]) / 1000) + 3600000 + retain)
  return 'f'
end
local last = state and tonumber(string.sub(state, 39, 54)) + tonumber(used) - 1 or 0
--@include settle
return more .. answer
