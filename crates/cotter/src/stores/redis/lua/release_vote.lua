-- As `release`, at a member of a quorum. Tells its waiters that the name may be free here; those of a server that is used alone
-- have a queue.
--
-- KEYS, ARGV, Returns  as `release`
local function release()
  --@include release
end
local answer = release()
if type(answer) == 'string' and string.sub(answer, -1) == 'f' then redis.call('PUBLISH', KEYS[1], '') end
return answer
