-- Included: the only reader of a name, whose state has the layout of a holder's, with an `r` as its third flag. Sets `lone`, the
-- record of that reader, or false if there is none.
local lone = state and #state >= 110 and string.sub(state, 4, 4) == 'r'
  and string.sub(state, 3, 3) .. '- ' .. string.sub(state, 39, 55) .. string.sub(state, 90, 95) .. string.sub(state, 73, 89)
  .. '0000000000 ' .. string.sub(state, 111)
