-- Grants to waiters what another script has left to grant.
--
-- KEYS  1 to 7 those of the name (`names.rs`)
-- ARGV  1 retain (ms)   2 the limit of a semaphore to set first (optional)
-- Returns an empty string, or an asterisk and 3 digits as `acquire`
local state = redis.call('GET', KEYS[1])
local FREE = '--------------------------------'
--@include now
--@include lease
--@include sweep
if ARGV[2] and share and share.taken then share.limit = tonumber(ARGV[2]) end
if share or state and waited and not held then
  local retain = tonumber(ARGV[1])
  local px, used = retain + 3602000, string.sub(state, 90, 94)
  local last = tonumber(string.sub(state, 39, 54)) + tonumber(used) - 1
  --@include settle
end
return more
