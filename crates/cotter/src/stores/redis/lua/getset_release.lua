-- Deletes the key or writes another expiry, if the value is the claim's own. Time does not matter: whoever wrote another
-- value may hold the lock.
--
-- KEYS  1 the key
-- ARGV  1 the expiry to leave, or '' to delete   2... the expiries that the claim may have written
-- Returns  f freed   n the value is another
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
