-- Included: evicts one of those who share the name, or all. Those that are evicted at once stay in a hash for as long as they
-- may try to extend their leases.
--@include shares
--@include compose
local evicted = KEYS[6]
local record
if meant then
  -- An operator's step: nothing else looks at all of them.
  local all = redis.call('HGETALL', RECORDS)
  for i = 1, #all, 2 do
    local from = tonumber(string.sub(all[i + 1], 4, 19))
    if meant >= from and meant < from + tonumber(string.sub(all[i + 1], 21, 25)) then
      id, record = all[i], all[i + 1]
      break
    end
  end
  if not record then return '' end
  number = string.sub(record, 4, 19)
end
if ARGV[2] == '' then
  if record then
    redis.call('HSET', RECORDS, id, 'e' .. string.sub(record, 2))
  else
    share.mark = string.format('%016.0f', first + reserved - 1)
    redis.call('SET', KEYS[1], compose(waited and 'w' or '-'), 'KEEPTTL')
  end
  return number
end
local keep = string.format('%.0f', math.ceil((share.max - share.clock) / 1000) + 1000)
if record then
  redis.call('ZREM', SHARES, id)
  redis.call('HDEL', RECORDS, id)
  redis.call('HSET', evicted, id, number)
  if share.taken then share.taken = share.taken - tonumber(string.sub(record, 44, 53)) end
else
  local others = redis.call('HGETALL', evicted)
  for i = 1, #others, 2 do redis.call('HSET', RECORDS, others[i], others[i + 1]) end
  -- It fails if there are no records.
  redis.pcall('RENAME', RECORDS, evicted)
  redis.call('UNLINK', SHARES)
  if share.taken then share.taken = 0 end
end
redis.call('PEXPIRE', evicted, keep)
share.removed = true
--@include sweep
