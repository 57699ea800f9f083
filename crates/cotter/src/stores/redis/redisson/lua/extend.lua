-- Extends many locks of Redisson; never shortens.
--
-- KEYS  for each lock: the lock, and what exists as long as the lease of the reader, or the lock again if the owner is no reader
-- ARGV  1 ttl (ms)   2 what stands for an evicted holder   3... the owner of each lock
-- A reader whose lease has ended holds nothing, even if the lock still has its field because others read.
-- Returns for each lock, separated by spaces: the milliseconds left, '-' if the owner does not hold it, 'e' if it was evicted
local ttl, answers = tonumber(ARGV[1]), {}
for i = 3, #ARGV do
  local lock, lease = KEYS[2 * i - 5], KEYS[2 * i - 4]
  local left = redis.call('PTTL', lease)
  -- A key of another type must not keep the others from being extended.
  if left == -2 or redis.pcall('HEXISTS', lock, ARGV[i]) ~= 1 then
    answers[i - 2] = redis.pcall('HEXISTS', lock, ARGV[2]) == 1 and 'e' or '-'
  else
    if left >= 0 and left < ttl then redis.call('PEXPIRE', lease, ARGV[1]) end
    if lease ~= lock then
      local longest = redis.call('PTTL', lock)
      if longest >= 0 and longest < ttl then redis.call('PEXPIRE', lock, ARGV[1]) end
    end
    answers[i - 2] = left > ttl and string.format('%.0f', left) or ARGV[1]
  end
end
return table.concat(answers, ' ')
