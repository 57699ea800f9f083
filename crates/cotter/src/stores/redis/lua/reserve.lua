-- Included: reserves the next block of tokens, as `backend::tokens::reserve` does.
--
-- Takes `last`, the largest token that was reserved, and `turns`, the number of turns wanted (5 digits).
-- Sets `number`, the first token (16 digits), and `turns`, the number of turns reserved.
--
-- A block begins at max(last + 1, clock) and has at most max(1, clock - last) turns, so that the counter does not run ahead
-- of the clock that replaces it when it is lost.
local number = now
if nown <= last then
  number, turns = string.format('%016.0f', last + 1), '00001'
elseif turns ~= '00001' and tonumber(turns) > nown - last then
  turns = string.format('%05d', nown - last)
end
