-- Included: extends a grant whose state is its own. Sets `answer`.
if string.sub(state, 3, 3) == 'e' then
  answer = 'eeeeeeeeeeeeee'
else
  local granted, ttl = tonumber(string.sub(state, 56, 71)), tonumber(string.sub(state, 96, 109))
  local left = math.min(granted, nown) + ttl - nown
  answer = '--------------'
  if left > tonumber(ARGV[1]) then
    answer = string.format('%014.0f', left)
  elseif left > 0 then
    redis.call('SET', key, string.sub(state, 1, 55) .. now .. string.sub(state, 72, 95) .. ARGV[1]
      .. string.sub(state, 110), 'PX', ARGV[2])
    answer = ARGV[1]
  end
end
