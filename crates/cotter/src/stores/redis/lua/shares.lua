-- Included: the keys of a name that is shared.
--
-- SHARES is a sorted set of claim ids by the ends of their leases; a kept lease has a plus sign before the id.
-- RECORDS is a hash with a record for each:  flags(2) first token(16) turns(5) since(16) permits(10) label
--   flags: e evicted, d downgraded (its turns were a writer's, and none of them goes back)
-- Both count only while the state says that the name is shared.
local SHARES, RECORDS = KEYS[4], KEYS[5]
