-- Compare-and-expire for many keys; never shortens.
--
-- KEYS  the keys
-- ARGV  1 ttl (ms)   2 the value of an evicted lock   3... the expected value of each key
-- Returns for each key, separated by spaces: the milliseconds left, '-' if the value is another, 'e' if it was evicted
local answers = {}
for i, key in ipairs(KEYS) do
  -- A key of another type must not keep the others from being extended.
  local value = redis.pcall('GET', key)
  if value ~= ARGV[i + 2] then
    answers[i] = value == ARGV[2] and 'e' or '-'
  else
    local left = redis.call('PTTL', key)
    if left >= 0 and left < tonumber(ARGV[1]) then redis.call('PEXPIRE', key, ARGV[1]) end
    answers[i] = left > tonumber(ARGV[1]) and string.format('%.0f', left) or ARGV[1]
  end
end
return table.concat(answers, ' ')
