-- Included: taking the string of a name apart, by position.
--
--   1w-- 0123456789abcdef0123456789abcdef 1763755348123456 1763755348123456 1763755348123456 00001 00000030000000 label
--   |    |                                |                |                |                |     |              |
--   1    6 claim id (- free, + kept)      39 first token   56 granted at    73 held since    90    96 ttl in us   111
--   |                                                                                        turns
--   version 1, then flags: w somebody may wait, e evicted, r (room for readers)
if state and (#state < 110 or string.sub(state, 1, 1) ~= '1') then
  return redis.error_reply('FOREIGNKEY the value was not written by this version of cotter')
end
local waited = state and string.sub(state, 2, 2) == 'w'
local holder = state and string.sub(state, 6, 37) or FREE
local first = state and tonumber(string.sub(state, 39, 54)) or 0
local granted = state and tonumber(string.sub(state, 56, 71)) or 0
local reserved = state and tonumber(string.sub(state, 90, 94)) or 0
local ttl = state and tonumber(string.sub(state, 96, 109)) or 0
if granted > nown and holder ~= FREE then
  -- The clock was stepped back: the lease counts from now, written down so that it ends one ttl later.
  granted = nown
  state = string.sub(state, 1, 55) .. now .. string.sub(state, 72)
  redis.call('SET', KEYS[1], state, 'KEEPTTL')
end
local left = granted + ttl - nown
local held = holder ~= FREE and left > 0
