-- Included: whether this member of a quorum votes. Takes off the marker, the last of KEYS, and off ARGV
--   the run id of the server(40), as the connection had it from INFO
--   the token to begin at, at least (16 digits)   the longest lease of the quorum (14 digits, us)
--   the number of its members (2 digits), 00 if that is not known
--
-- The marker is  run id of the server(40) longest lease(14) end of the abstinence(16) replication id(40) members(2)
-- Markers of earlier versions lack the last two, and get them from the first request.
-- A server that was restarted, has lost the marker, or has had another replication id since, may have forgotten what it granted, so
-- it abstains until every lease that it may have granted is over. Its counters may have gone back too: from then on they begin after
-- that moment, by as much as a counter may be ahead of its clock. The replication id changes when a server follows another one and
-- when it is promoted: what it has then, this marker included, may be an old copy of its own, and the run goes on.
-- Whoever names another number of members has another majority, and gets no vote.
local MEMBERS, LONGEST, AT_LEAST = table.remove(ARGV), table.remove(ARGV), tonumber(table.remove(ARGV))
local run, MARKER = table.remove(ARGV), table.remove(KEYS)
local copy = string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)') or string.rep('-', 40)
local marker = redis.call('GET', MARKER) or ''
local known, longest, over = string.sub(marker, 1, 40), string.sub(marker, 42, 55), tonumber(string.sub(marker, 57, 72))
local copied, members = string.sub(marker, 74, 113), string.sub(marker, 115, 116)
local changed = true
if known ~= run or copied ~= copy and copied ~= '' then
  if longest < LONGEST then longest = LONGEST end
  over = nown + tonumber(longest)
elseif over > nown and longest < LONGEST then
  over, longest = over + tonumber(LONGEST) - tonumber(longest), LONGEST
elseif over - nown > tonumber(longest) then
  -- The clock was set back.
  over = nown + tonumber(longest)
else
  changed = copied == ''
end
if (members == '' or members == '00') and members ~= MEMBERS then members, changed = MEMBERS, true end
if changed then
  redis.call('SET', MARKER, run .. ' ' .. longest .. ' ' .. string.format('%016.0f', over) .. ' ' .. copy .. ' ' .. members)
end
if MEMBERS ~= '00' and members ~= MEMBERS then
  return 's' .. members
end
if over > nown then
  return 'a' .. string.format('%014.0f', over - nown)
end
AT_LEAST = math.max(AT_LEAST, over + 1000000)
