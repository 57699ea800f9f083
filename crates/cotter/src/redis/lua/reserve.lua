-- Included: the next block of tokens: from max(last + 1, clock), of at most max(1, clock - last) turns, so that the
-- counter never runs ahead of the clock that has to stand in for it when the counter is lost.
local function reserve(last, turns)
  if nown > last then
    if turns ~= '00001' and tonumber(turns) > nown - last then
      turns = string.format('%05d', nown - last)
    end
    return now, turns
  end
  return string.format('%016.0f', last + 1), '00001'
end
