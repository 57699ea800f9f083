-- Included: sets the times to live of the keys of a name that is shared to `keep`, now and then: they outlive the last lease
-- by more than half an hour.
if math.floor(share.max / 1e9) ~= share.era then
  redis.call('PEXPIRE', SHARES, keep)
  redis.call('PEXPIRE', RECORDS, keep)
end
