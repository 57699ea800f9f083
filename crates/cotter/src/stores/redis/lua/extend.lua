-- Extends each of these grants to `ttl` from now; never shortens, never creates. A grant is identified by claim id *and*
-- first token: an acquire request that arrived late may have given the same claim another grant since.
--
-- KEYS  the locks
-- ARGV  1 ttl (14 digits, us)   2 px of a held lock (ms)   3... their claim ids and first tokens (32 + 1 + 16)
-- Returns 14 characters for each: the microseconds left; or - if the grant is lost, e if it was evicted
--@include now
local answers = {}
for i, key in ipairs(KEYS) do
  local state = redis.pcall('GET', key)
  local answer = '--------------'
  if type(state) ~= 'string' or string.sub(state, 1, 1) ~= '1' or string.sub(state, 6, 54) ~= ARGV[i + 2] then
    local id = string.sub(ARGV[i + 2], 1, 32)
    local record
    if type(state) == 'string' and #state >= 126 and string.byte(state, 1) == 49 and string.byte(state, 6) > 102 then
      --@include extend_share
    end
    if not record and redis.call('HGET', key .. ':e', id) then answer = 'eeeeeeeeeeeeee' end
  elseif string.sub(state, 3, 3) == 'e' then
    answer = 'eeeeeeeeeeeeee'
  else
    local granted, ttl = tonumber(string.sub(state, 56, 71)), tonumber(string.sub(state, 96, 109))
    local left = math.min(granted, nown) + ttl - nown
    if left > tonumber(ARGV[1]) then
      answer = string.format('%014.0f', left)
    elseif left > 0 then
      redis.call('SET', key, string.sub(state, 1, 55) .. now .. string.sub(state, 72, 95) .. ARGV[1]
        .. string.sub(state, 110), 'PX', ARGV[2])
      answer = ARGV[1]
    end
  end
  answers[i] = answer
end
return table.concat(answers)
