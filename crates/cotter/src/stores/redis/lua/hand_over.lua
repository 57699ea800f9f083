-- Included: grants the lock to a waiter, and sends it a message unless it is the one that made this request (`asks`). A
-- grant by message has a lease of SHORT at first: if the process is stopped, the others need not wait for a whole ttl.
-- Returns as `pass_on`.
local SHORT = '00000002000000'
local function hand_over(id, entry, ends, last, asks)
  local turns = string.sub(entry, 50, 54)
  --@include reserve
  local life = string.sub(entry, 35, 48)
  if not asks and life > SHORT then life = SHORT end
  redis.call('SET', KEYS[1], '1w-- ' .. id .. ' ' .. number .. ' ' .. now .. ' ' .. now .. ' ' .. turns .. ' ' .. life
    .. ' ' .. string.sub(entry, ends + 3), 'PX', asks and ARGV[5] or px)
  redis.call('ZREM', KEYS[2], id)
  redis.call('HDEL', KEYS[3], id)
  share = nil
  if asks then return number .. turns .. life, life end
  -- Last, and guarded: if a write is refused, there must be no message without a grant.
  redis.pcall('PUBLISH', string.sub(entry, 71, ends - 1), 'granted ' .. id .. ' ' .. string.sub(entry, 18, 33) .. ' '
    .. number .. ' ' .. turns .. ' ' .. life .. ' ' .. KEYS[1])
  return nil, life
end
