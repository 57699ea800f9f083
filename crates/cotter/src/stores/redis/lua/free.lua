-- Included: grants a name that is free and that nobody waits for. Takes `state`, `now`, `id` and the arguments of `acquire`.
if state and string.sub(state, 1, 37) == '1--- --------------------------------'
  or not state and #redis.call('ZRANGE', KEYS[2], '0', '0') == 0 then
  --@include first_claim
  redis.call('SET', KEYS[1], '1--- ' .. id .. ' ' .. number .. ' ' .. now .. ' ' .. now .. ' ' .. turns .. ' '
    .. ARGV[2] .. ' ' .. ARGV[4], 'PX', ARGV[5])
  return 'g' .. number .. turns .. ARGV[2]
end
