-- Included: one of the keys of a name that is shared is missing, because it was deleted or evicted. What is left of the
-- holders keeps the name until the last lease of all would have ended. Holders whose records are left notice nothing.
local all, ends, known, lost, last = redis.call('HGETALL', RECORDS), {}, 0, 0, share.max
if first[1] then last = redis.call('ZRANGE', SHARES, '-1', '-1', 'WITHSCORES')[2] end
for i = 1, #all, 2 do
  local permits = tonumber(string.sub(all[i + 1], 44, 53))
  known = known + permits
  if all[i] == '?' then lost = permits end
  ends[#ends + 1] = last
  ends[#ends + 1] = all[i]
  if #ends >= 1000 or i == #all - 1 then
    redis.call('ZADD', SHARES, 'NX', unpack(ends))
    ends = {}
  end
end
lost = lost + (share.taken or 0) - known
if #all == 0 or lost > 0 then
  redis.call('ZADD', SHARES, last, '?')
  redis.call('HSET', RECORDS, '?', '-- 0000000000000000 00000 ' .. now .. ' ' .. string.format('%010.0f', lost) .. ' ')
end
local px = string.format('%.0f', math.ceil((share.max - share.clock) / 1000) + 3600000)
redis.call('PEXPIRE', SHARES, px)
redis.call('PEXPIRE', RECORDS, px)
