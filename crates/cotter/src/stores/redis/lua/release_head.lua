-- Included: frees a lock that nobody waits for, and answers. Takes `head`, the beginning of its state, or false.
if head == '1--- ' .. id or head == '1--r ' .. id then
  local used = ARGV[2]
  if used > string.sub(state, 90, 94) then used = string.sub(state, 90, 94) end
  redis.call('SET', KEYS[1], '1--- --------------------------------' .. string.sub(state, 38, 89) .. used
    .. string.sub(state, 95, 110), 'PX', ARGV[3])
  return 'f'
end
