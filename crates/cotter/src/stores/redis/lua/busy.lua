-- Included: the answer to a claim that got nothing. Takes `life`, the ttl that another one was granted, and `in_use`: the name
-- is in use in another way.
if in_use then
  return more .. 'm' .. (share and share.taken and string.format('%010.0f', share.limit) or '')
end
local lease = now .. (life or '00000000000000')
if share and share.held then
  -- Readers keep a writer out until the last lease ends; a permit may come back at the end of the first.
  local place = share.taken and '0' or '-1'
  local ends = redis.call('ZRANGE', KEYS[4], place, place, 'WITHSCORES')[2]
  lease = now .. string.format('%014.0f', math.max(tonumber(ends) - share.clock, 0))
elseif held then
  lease = string.sub(state, 56, 71) .. string.sub(state, 96, 109)
end
if ticket then
  return more .. 'q' .. ticket .. lease .. now .. (redis.call('ZRANK', KEYS[2], id) or 0)
end
return more .. 'b' .. lease .. now
