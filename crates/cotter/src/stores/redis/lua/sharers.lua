-- Included: parses the state of a name that is shared. Sets `share`:
--
--   kind r readers, s holders of permits   limit, taken: the permits   number, turns: the last block of tokens
--   clock: the time on the clock of the leases, which is `lead` ahead of the server's. It never goes back, so that a server
--   whose clock is set back keeps nobody for longer, however many they are
--   max: no lease ends later than that   mark: holders with tokens up to this one were evicted
local granted, lead = tonumber(string.sub(state, 56, 71)), tonumber(string.sub(state, 73, 88))
local is_set_back = granted > nown + lead
if is_set_back then
  lead = granted - nown
  state = string.sub(state, 1, 72) .. string.format('%016.0f', lead) .. string.sub(state, 89)
  -- Not by a script that only reads.
  redis.pcall('SET', KEYS[1], state, 'KEEPTTL')
end
share = {
  kind = string.sub(holder, 1, 1),
  limit = tonumber(string.sub(holder, 13, 22)),
  taken = tonumber(string.sub(holder, 23, 32)),
  number = string.sub(state, 39, 54),
  turns = string.sub(state, 90, 94),
  lead = lead,
  clock = nown + lead,
  max = granted + tonumber(string.sub(state, 96, 109)),
  mark = string.sub(state, 111, 126),
}
share.era = math.floor(share.max / 1e9)
