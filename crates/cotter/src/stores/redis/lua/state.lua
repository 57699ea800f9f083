-- Included: parses the stored string of a name, by position.
--
--   1w-- 0123456789abcdef0123456789abcdef 1763755348123456 1763755348123456 1763755348123456 00001 00000030000000 label
--   |    |                                |                |                |                |     |              |
--   1    6 claim id (- free, + kept)      39 first token   56 granted at    73 held since    90    96 ttl in us   111
--   |                                                                                        turns
--   version 1, then flags: w somebody may wait, e evicted, r a reader that is alone
--
-- A reader that nobody shares the name with has it like any other holder, and costs as much. While the name is shared:
--
--   1w-- rrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrr 1763755348123456 1763755348123456 0000000000000000 00001 00000030000000 0000000000000000
--        |                                |                |                |                |     |              |
--        6 r: readers, or                 39 last block    56 last change   73 lead of the   90    96 no lease    111 holders with
--        ssssssssssss limit(10) taken(10)    of tokens        on the clock     leases' clock          ends later      tokens up to it
--        for permits                                          of the leases                           than that       were evicted
--@include lease
local first = state and tonumber(string.sub(state, 39, 54)) or 0
local reserved = state and tonumber(string.sub(state, 90, 94)) or 0
