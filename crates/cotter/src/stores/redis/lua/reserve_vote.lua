-- Included instead of `reserve` where a quorum counts: as `backend::tokens::reserve_next`. A new counter begins at the first
-- full second that is not before the clock, every other goes on with the next number.
local ahead = nown + 1000000
local born = math.ceil(nown / 1000000) * 1000000
local number = string.format('%016.0f', math.max(last == 0 and born or last + 1, AT_LEAST))
if ahead <= last then
  turns = '00001'
elseif turns ~= '00001' and tonumber(turns) > ahead - last then
  turns = string.format('%05d', ahead - last)
end
