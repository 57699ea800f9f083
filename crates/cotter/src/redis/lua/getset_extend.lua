-- Moves expiries on. While ours has not come, whatever stands there was written by one who lost the race.
--
-- KEYS  the keys
-- ARGV  1 now   then our expiry and the new one of each key (all ms by the client's clock)
-- Returns for each key  f moved   n lost
local answers = {}
for i, key in ipairs(KEYS) do
  local ours, new = ARGV[2 * i], ARGV[2 * i + 1]
  if redis.call('EXISTS', key) == 0 or tonumber(ours) <= tonumber(ARGV[1]) then
    answers[i] = 'n'
  else
    redis.call('SET', key, new)
    answers[i] = 'f'
  end
end
return table.concat(answers)
