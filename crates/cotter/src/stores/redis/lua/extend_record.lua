-- Included: extends a share, if the claim has one. A writer that became a reader may give any token of its block. Sets
-- `answer`, and `record` if there is one.
local granted, lead = tonumber(string.sub(state, 56, 71)), tonumber(string.sub(state, 73, 88))
lead = math.max(lead, granted - nown)
local clock, max, number = nown + lead, granted + tonumber(string.sub(state, 96, 109)), tonumber(string.sub(ARGV[i + 2], 34))
record = redis.call('HGET', records, id)
local from = record and tonumber(string.sub(record, 4, 19))
if record and (number < from or number >= from + tonumber(string.sub(record, 21, 25))) then record = nil end
if record and (string.sub(record, 1, 1) == 'e' or number <= tonumber(string.sub(state, 111, 126))) then
  answer = 'eeeeeeeeeeeeee'
elseif record then
  -- If the ends of the leases are missing, none of them ends later than `max`.
  local ends = tonumber(redis.call('ZSCORE', shares, id) or max)
  local wanted = clock + tonumber(ARGV[1])
  if ends > clock and ends >= wanted then
    answer = string.format('%014.0f', ends - clock)
  elseif ends > clock then
    redis.call('ZADD', shares, wanted, id)
    if math.floor(wanted / 1e9) > math.floor(max / 1e9) then
      redis.call('PEXPIRE', shares, ARGV[2])
      redis.call('PEXPIRE', records, ARGV[2])
    end
    if wanted > max then
      redis.call('SET', key, string.sub(state, 1, 55) .. string.format('%016.0f %016.0f', clock, lead)
        .. string.sub(state, 89, 95) .. ARGV[1] .. string.sub(state, 110), 'PX', ARGV[2])
    end
    answer = ARGV[1]
  end
end
