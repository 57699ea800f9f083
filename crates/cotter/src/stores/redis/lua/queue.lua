-- Included: the layout of a queue, and how to restore it.
--
-- KEYS[2] is a sorted set of claim ids. Those in the queue are ordered by ticket. Behind them, with a tilde before the id
-- and ordered by ASIDE + the end of their silence, come those that were set aside because their channels have no
-- subscribers and many others like them are in front.
-- KEYS[3] is a hash with a record for each claim:  last request(16) ticket(16) ttl(14) turns(5) silence(14) channel mode label
--   mode: x exclusive, r shared, s and two times 10 digits: permits wanted, of how many
-- and one for all of them under '.':  last request(16) pace(14) since(16) newest ticket(16)
-- Requests come at least every `pace`, and silence counts from `since` at the earliest: if there was no request at all for
-- longer, the server may have been stopped, and that ends nobody's place.
local ASIDE = 4e15
-- A request that is this much later than promised counts as missing, in microseconds.
local SLACK = 500000

-- Rebuilds the queue from the records, because KEYS[2] was deleted or evicted. Returns the number of records.
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
