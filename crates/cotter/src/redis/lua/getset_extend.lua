-- Moves expiries on, each only if it is still ours.
--
-- KEYS  the keys
-- ARGV  for each key: the new expiry, a number, and so many that we may have written before
-- Returns for each key  f moved   n not ours
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
