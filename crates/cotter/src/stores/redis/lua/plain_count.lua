-- Included: stores the count of a name. Takes `number`, `turns`, `id`, and ARGV[4], for how long it is kept (ms) after the
-- instant that the number stands for.
local ahead = math.max(0, tonumber(number) - nown)
redis.call('SET', KEYS[2], number .. turns .. id, 'PX', string.format('%.0f', math.ceil(ahead / 1000) + tonumber(ARGV[4])))
