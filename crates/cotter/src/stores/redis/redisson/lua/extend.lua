-- Extends many locks of Redisson; never shortens.
--
-- KEYS  the locks
-- ARGV  1 ttl (ms)   2 what stands for an evicted holder   3... the owner of each lock
-- Returns for each lock, separated by spaces: the milliseconds left, '-' if the owner does not hold it, 'e' if it was evicted
local answers = {}
for i, key in ipairs(KEYS) do
  -- A key of another type must not keep the others from being extended.
  if redis.pcall('HEXISTS', key, ARGV[i + 2]) ~= 1 then
    answers[i] = redis.pcall('HEXISTS', key, ARGV[2]) == 1 and 'e' or '-'
  else
    local left = redis.call('PTTL', key)
    if left >= 0 and left < tonumber(ARGV[1]) then redis.call('PEXPIRE', key, ARGV[1]) end
    answers[i] = left > tonumber(ARGV[1]) and string.format('%.0f', left) or ARGV[1]
  end
end
return table.concat(answers, ' ')
