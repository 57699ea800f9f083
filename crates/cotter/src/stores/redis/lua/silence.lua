-- Included: whether a waiter has been silent for too long. If its last request is in the future (the clock was set back),
-- it counts as having come now; that is stored, or its silence would begin only when the clock has caught up.
-- Also returns the entry.
local function is_silent(id, entry)
  local seen, silence = tonumber(string.sub(entry, 1, 16)), tonumber(string.sub(entry, 56, 69))
  if seen > nown then
    entry = now .. string.sub(entry, 17)
    redis.call('HSET', KEYS[3], id, entry)
    return false, entry
  end
  if nown - seen <= silence then return false, entry end
  local beat = redis.call('HGET', KEYS[3], '.')
  if not beat then return true, entry end
  local since = tonumber(string.sub(beat, 33, 48))
  if since > seen then return nown - since > silence, entry end
  if nown - tonumber(string.sub(beat, 1, 16)) <= tonumber(string.sub(beat, 18, 31)) + SLACK then return true, entry end
  -- There was no request at all for longer than promised: from now on, every waiter has the time of its silence to return.
  redis.call('HSET', KEYS[3], '.', now .. string.sub(beat, 17, 32) .. now .. string.sub(beat, 49))
  return false, entry
end
