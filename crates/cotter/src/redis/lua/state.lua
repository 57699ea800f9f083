-- Included: parses the stored string of a name, by position.
--
--   1w-- 0123456789abcdef0123456789abcdef 1763755348123456 1763755348123456 1763755348123456 00001 00000030000000 label
--   |    |                                |                |                |                |     |              |
--   1    6 claim id (- free, + kept)      39 first token   56 granted at    73 held since    90    96 ttl in us   111
--   |                                                                                        turns
--   version 1, then flags: w somebody may wait, e evicted, r (room for readers)
--@include lease
local first = state and tonumber(string.sub(state, 39, 54)) or 0
local reserved = state and tonumber(string.sub(state, 90, 94)) or 0
