-- Writes later expiries, each only over one of the claim's own.
--
-- KEYS  the keys
-- ARGV  for each key: the new expiry, n, and n expiries that the claim may have written before
-- Returns for each key  f written   n the value is another
local answers, at = {}, 1
for i, key in ipairs(KEYS) do
  local new, many = ARGV[at], tonumber(ARGV[at + 1])
  local value = redis.pcall('GET', key)
  answers[i] = 'n'
  for j = at + 2, at + 1 + many do
    if value == ARGV[j] then
      redis.call('SET', key, new)
      answers[i] = 'f'
      break
    end
  end
  at = at + 2 + many
end
return table.concat(answers)
