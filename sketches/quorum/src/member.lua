-- op id ttl turns number used keep; times in microseconds
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local function text(n) return string.format('%.0f', n) end
local s = redis.call('HMGET', KEYS[1], 'id', 'first', 'turns', 'ends', 'last')
local op, id, ttl, turns = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local number, used, keep = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local first, block, ends, last = tonumber(s[2] or 0), tonumber(s[3] or 0), tonumber(s[4] or 0), tonumber(s[5] or 0)
local held = s[1] and s[1] ~= '' and ends > now
local ours = held and s[1] == id
-- Notes: number is the token, turns the sequence, used the key, keep the bytes.
if op == 'load' then return redis.call('HGET', KEYS[1], 'n:' .. ARGV[6]) or '' end
if op == 'store' or op == 'mend' then
  if op == 'store' and not ours then return '0' end
  local t0, s0 = string.match(redis.call('HGET', KEYS[1], 'n:' .. ARGV[6]) or '', '^(%d+) (%d+) ')
  t0, s0 = tonumber(t0 or 0), tonumber(s0 or 0)
  if number < t0 or number == t0 and turns <= s0 then return '0' end
  redis.call('HSET', KEYS[1], 'n:' .. ARGV[6], text(number) .. ' ' .. text(turns) .. ' ' .. ARGV[7])
  return '1'
end
local function store(who)
  redis.call('HSET', KEYS[1], 'id', who, 'first', text(first), 'turns', text(block), 'ends', text(ends), 'last', text(last))
  redis.call('PEXPIRE', KEYS[1], 86400000)
  return {1, first, block, math.max(0, ends - now)}
end
if op == 'take' then
  if ours then
    if first < number then first = number; last = math.max(last, first + block - 1); return store(id) end
    return {1, first, block, ends - now}
  end
  if held then return {0, 0, 0, ends - now} end
  -- The clock only for a new counter: members that add one agree.
  first = math.max(last == 0 and now or last + 1, number)
  block = math.min(turns, math.max(1, now - last))
  ends, last = now + ttl, first + block - 1
  return store(id)
end
if not ours then return {0, 0, 0, 0} end
if op == 'raise' then
  first = math.max(first, number)
  last = math.max(last, first + block - 1)
  return store(id)
elseif op == 'extend' then
  if first ~= number then return {0, 0, 0, 0} end
  ends = math.max(ends, now + ttl)
  return store(id)
elseif op == 'release' then
  if last == first + block - 1 then last = first + math.min(block, math.max(1, used)) - 1 end
  if keep > 0 then ends = now + keep; return store('+') end
  ends = 0
  return store('')
end
return redis.error_reply('no such operation')
