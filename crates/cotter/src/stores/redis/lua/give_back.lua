-- Included: gives back a share, if the claim has one. Sets `ours`, and `used` if the last block of tokens was its own.
--@include shares
local record = (share.taken or ARGV[5] or ARGV[2] < used) and redis.call('HGET', RECORDS, id)
local is_changed = ARGV[5]
ours = redis.call('ZREM', SHARES, id) + redis.call('HDEL', RECORDS, id) > 0
if ours then
  -- Turns that were not used go back only if nobody has been granted anything since.
  local is_last = record and string.sub(record, 2, 19) == '- ' .. string.sub(state, 39, 54)
  if is_last and ARGV[2] < used then
    used, share.turns, is_changed = ARGV[2], ARGV[2], true
    state = string.sub(state, 1, 89) .. used .. string.sub(state, 95)
  end
  if record and ARGV[5] then
    -- The rest of the lease is kept, and nobody has it.
    local ends = share.clock + tonumber(ARGV[5])
    redis.call('ZADD', SHARES, ends, '+' .. id)
    redis.call('HSET', RECORDS, '+' .. id, record)
    share.max = math.max(share.max, ends)
  elseif record then
    share.taken = share.taken and share.taken - tonumber(string.sub(record, 44, 53))
  end
  share.removed, share.missing = true, share.taken and not record
end
--@include sweep
if ours and not waited then
  if not share then
    redis.call('SET', KEYS[1], state, 'PX', retain)
  elseif share.taken or is_changed then
    --@include compose
    redis.call('SET', KEYS[1], compose('-'), 'KEEPTTL')
  end
  return more .. 'f'
end
