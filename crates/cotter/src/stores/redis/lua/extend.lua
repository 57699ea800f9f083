-- Extends each of these grants to `ttl` from now; never shortens, never creates. A grant is identified by claim id *and*
-- first token: an acquire request that arrived late may have given the same claim another grant since.
--
-- It needs one key of each name, so that a node of a cluster carries it out while it gives their slot away.
--
-- KEYS  the locks
-- ARGV  1 ttl (14 digits, us)   2 px of a held lock (ms)   3... their claim ids and first tokens (32 + 1 + 16)
-- Returns 14 characters for each: the microseconds left; or - if the grant is lost, e if it was evicted, ? if only
-- `extend_share` can tell
--@include now
local answers = {}
for i, key in ipairs(KEYS) do
  local state = redis.pcall('GET', key)
  local answer = '??????????????'
  if type(state) == 'string' and string.sub(state, 1, 1) == '1' and string.sub(state, 6, 54) == ARGV[i + 2] then
    --@include extend_alone
  end
  answers[i] = answer
end
return table.concat(answers)
