-- Included: reserves the first turns of a claim on a name that is free and that nobody waits for. Takes `id`.
local last, turns = 0, ARGV[3]
if state then
  last = tonumber(string.sub(state, 39, 54)) + tonumber(string.sub(state, 90, 94)) - 1
  if ARGV[10] == '1' then
    -- It was set aside while its channel had no subscriber.
    redis.call('ZREM', KEYS[2], id, '~' .. id)
    redis.call('HDEL', KEYS[3], id)
  end
end
--@include reserve
