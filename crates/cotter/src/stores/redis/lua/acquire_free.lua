-- An acquire request for a name that is free and that nobody waits for, or that a lease keeps from everybody. What a script costs is
-- its keys and arguments more than its steps, so this one has those that it needs.
--
-- KEYS  1 the lock   2 its queue
-- ARGV  1 to 5 as for `acquire`
-- Returns  g first(16) turns(5) left(14)   b granted(16) ttl(14) now(16)   ? only `acquire` can tell
local state = redis.pcall('GET', KEYS[1])
if type(state) == 'table' then return '?' end
--@include now
local id = ARGV[1]
--@include free
if state and #state >= 110 and string.byte(state) == 49 then
  local holder, granted, ttl = string.sub(state, 6, 37), string.sub(state, 56, 71), string.sub(state, 96, 109)
  local is_claim = string.byte(holder) <= 102 and holder ~= '--------------------------------' and holder ~= id
  if is_claim and granted <= now and tonumber(granted) + tonumber(ttl) > nown then
    return 'b' .. granted .. ttl .. now
  end
end
return '?'
