-- Extends grants as `extend` does, those too that share a name; and tells a grant that was evicted from one that is lost.
--
-- KEYS  five for each name: 1 the lock   2 the leases   3 the records of those who share it   4 the claims that were evicted
--       5 nothing (`names.rs`)
-- ARGV  as for `extend`
-- Returns  as `extend`, without ?
--@include now
local answers = {}
for i = 1, #KEYS / 5 do
  local key, shares, records, evicted = unpack(KEYS, 5 * i - 4, 5 * i - 1)
  local state = redis.pcall('GET', key)
  local answer = '--------------'
  if type(state) == 'string' and string.sub(state, 1, 1) == '1' and string.sub(state, 6, 54) == ARGV[i + 2] then
    --@include extend_alone
  else
    local id = string.sub(ARGV[i + 2], 1, 32)
    local record
    if type(state) == 'string' and #state >= 126 and string.byte(state, 1) == 49 and string.byte(state, 6) > 102 then
      --@include extend_record
    end
    if not record and redis.call('HGET', evicted, id) then answer = 'eeeeeeeeeeeeee' end
  end
  answers[i] = answer
end
return table.concat(answers)
