-- Included: whether this member of a quorum votes. Takes off the marker, the last of KEYS, and off ARGV
--   the run id of the server(40), as the connection had it from INFO
--   the token to begin at, at least (16 digits)   the longest lease of the quorum (14 digits, us)
--
-- The marker is  run id of the server(40) longest lease(14) end of the abstinence(16)
-- A server that was restarted, or has lost the marker, may have forgotten what it granted, so it abstains until every lease
-- that it may have granted is over. Its counters may have gone back too: from then on they begin after that moment, by as much
-- as a counter may be ahead of its clock.
local LONGEST, AT_LEAST, MARKER = table.remove(ARGV), tonumber(table.remove(ARGV)), table.remove(KEYS)
local run = table.remove(ARGV)
local marker = redis.call('GET', MARKER) or ''
local known, longest, over = string.sub(marker, 1, 40), string.sub(marker, 42, 55), tonumber(string.sub(marker, 57, 72))
local changed = true
if known ~= run then
  if longest < LONGEST then longest = LONGEST end
  over = nown + tonumber(longest)
elseif over > nown and longest < LONGEST then
  over, longest = over + tonumber(LONGEST) - tonumber(longest), LONGEST
elseif over - nown > tonumber(longest) then
  -- The clock was set back.
  over = nown + tonumber(longest)
else
  changed = false
end
if changed then
  redis.call('SET', MARKER, run .. ' ' .. longest .. ' ' .. string.format('%016.0f', over))
end
if over > nown then
  return 'a' .. string.format('%014.0f', over - nown)
end
AT_LEAST = math.max(AT_LEAST, over + 1000000)
