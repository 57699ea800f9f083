-- Included: makes the only reader of a name one of those who share it, so that others can join it or it can leave something
-- behind.
--@include lone_reader
if lone then
  --@include shares
  local reader, ends = string.sub(state, 6, 37), tonumber(string.sub(state, 56, 71)) + tonumber(string.sub(state, 96, 109))
  local keep = string.format('%.0f', math.max(math.ceil((ends - nown) / 1000), 0) + 3602000)
  redis.call('UNLINK', SHARES, RECORDS)
  redis.call('HSET', RECORDS, reader, lone)
  redis.call('ZADD', SHARES, ends, reader)
  redis.call('PEXPIRE', SHARES, keep)
  redis.call('PEXPIRE', RECORDS, keep)
  state = '1' .. string.sub(state, 2, 2) .. '-- rrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrr' .. string.sub(state, 38, 72)
    .. '0000000000000000' .. string.sub(state, 89, 110) .. '0000000000000000'
  redis.call('SET', KEYS[1], state, 'KEEPTTL')
end
