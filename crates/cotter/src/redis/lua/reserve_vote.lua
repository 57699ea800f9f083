-- Included instead of `reserve` where a quorum counts: as `backend::tokens::reserve_next`. A new counter begins at the clock,
-- every other goes on with the next number.
local number = string.format('%016.0f', math.max(last == 0 and nown or last + 1, AT_LEAST))
if nown <= last then
  turns = '00001'
elseif turns ~= '00001' and tonumber(turns) > nown - last then
  turns = string.format('%05d', nown - last)
end
