-- Included: what the steps around a queue have in common.
--
-- KEYS[2], a sorted set: the claim ids of those in line, by ticket; behind them, by ASIDE + the end of their silence and
-- with a tilde before their ids, those that were set aside because nobody listens for them and many others like them
-- stand in front.
-- KEYS[3], a hash of what is known of each:  seen(16) ticket(16) ttl(14) turns(5) silence(14) channel label
-- and under '.' of all who ask:  asked last(16) pace(14) since(16) newest ticket(16)
-- Somebody asks every `pace`, and silence counts from `since` at the earliest: when nobody at all has asked for longer,
-- the server may have stood still, and that ends nobody's place.
local ASIDE = 4e15
-- So much later than promised, in microseconds, a question counts as missing.
local SLACK = 500000

-- Brings everybody who is known back to line, by ticket: KEYS[2] was deleted or evicted. Returns how many are known.
local function restore()
  local all, line, count = redis.call('HGETALL', KEYS[3]), {}, 0
  redis.call('DEL', KEYS[2])
  for i = 1, #all, 2 do
    if all[i] ~= '.' then
      count = count + 1
      line[#line + 1] = string.sub(all[i + 1], 18, 33)
      line[#line + 1] = all[i]
    end
    if #line > 0 and (#line >= 1000 or i == #all - 1) then
      redis.call('ZADD', KEYS[2], unpack(line))
      line = {}
    end
  end
  redis.call('PEXPIRE', KEYS[2], '86400000')
  return count
end
