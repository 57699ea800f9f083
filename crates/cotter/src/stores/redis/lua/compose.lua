-- Included: the state of a name that is shared, as a string; `w` is its first flag.
local function compose(w)
  local use = 'rrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrr'
  if share.taken then use = 'ssssssssssss' .. string.format('%010.0f%010.0f', share.limit, share.taken) end
  local clock, lead = now, '0000000000000000'
  if share.lead > 0 then
    clock, lead = string.format('%016.0f', share.clock), string.format('%016.0f', share.lead)
  end
  return '1' .. w .. '-- ' .. use .. ' ' .. share.number .. ' ' .. clock .. ' ' .. lead .. ' ' .. share.turns .. ' '
    .. string.format('%014.0f', math.max(share.max - share.clock, 0)) .. ' ' .. share.mark
end
