-- Deletes the key, or leaves another expiry, if it is still ours. Never by the time: whoever wrote another value may hold.
--
-- KEYS  1 the key
-- ARGV  1 the expiry to leave behind, or ''   2... those that we may have written
-- Returns  f freed   n not ours
local value = redis.pcall('GET', KEYS[1])
for i = 2, #ARGV do
  if value == ARGV[i] then
    if ARGV[1] == '' then
      redis.call('DEL', KEYS[1])
    else
      redis.call('SET', KEYS[1], ARGV[1])
    end
    return 'f'
  end
end
return 'n'
