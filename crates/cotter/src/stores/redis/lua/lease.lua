-- Included: the holder and its lease, or `share` if the name is shared. Scripts that need the tokens as well include `state`
-- instead.
if state and (#state < 110 or string.sub(state, 1, 1) ~= '1') then
  return redis.error_reply('FOREIGNKEY the value was not written by this version of cotter')
end
local waited = state and string.sub(state, 2, 2) == 'w'
local holder, left, held, share, more = state and string.sub(state, 6, 37) or FREE, 0, false, nil, ''
if string.byte(holder) > 102 then
  --@include sharers
elseif holder ~= FREE then
  local granted = tonumber(string.sub(state, 56, 71))
  if granted > nown then
    -- The clock was set back: the lease counts from now. That is stored, so that it ends one ttl later; not by a script that only
    -- reads.
    granted = nown
    state = string.sub(state, 1, 55) .. now .. string.sub(state, 72)
    redis.pcall('SET', KEYS[1], state, 'KEEPTTL')
  end
  left = granted + tonumber(string.sub(state, 96, 109)) - nown
  held = left > 0
end
