-- Compare and expire, for many keys; never shortens.
--
-- KEYS  the keys
-- ARGV  1 ttl (ms)   2 the value of what was evicted   then our value of each key
-- Returns for each key the milliseconds that are left, '-' where the value is another, or 'e'; spaces between
local answers = {}
for i, key in ipairs(KEYS) do
  -- What is no string at all is no reason to leave the others out.
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
