-- Writes a note for a current holder that was not evicted, and only over a smaller (token, sequence). Those who watch it
-- get a message.
--
-- KEYS  1 to 7 those of the name (`names.rs`)   8 the note
-- ARGV  1 claim id   2 token (16 digits)   3 sequence (16 digits)   4 bytes
--       5 the revision that was read, 0 if there was no note; '' if the write is not based on one
-- Returns the new revision, or '' if the writer is stale
local state = redis.call('GET', KEYS[1])
local FREE = '--------------------------------'
--@include now
--@include state
if share then
  --@include shares
  local record, ends = redis.call('HGET', RECORDS, ARGV[1]), tonumber(redis.call('ZSCORE', SHARES, ARGV[1]) or share.max)
  local token = tonumber(ARGV[2])
  if not record or ends <= share.clock or string.sub(record, 1, 1) == 'e' or token <= tonumber(share.mark)
    or token < tonumber(string.sub(record, 4, 19)) then
    return ''
  end
elseif not held or holder ~= ARGV[1] or string.sub(state, 3, 3) == 'e' or tonumber(ARGV[2]) < first then
  return ''
end
local by = ARGV[2] .. ' ' .. ARGV[3]
local old = redis.call('HGET', KEYS[8], 'by')
if old and by <= old then return '' end
if ARGV[5] ~= '' and (redis.call('HGET', KEYS[8], 'revision') or '0') ~= ARGV[5]
  and string.sub(old or '', 1, 16) ~= ARGV[2] then
  return ''
end
redis.call('HSET', KEYS[8], 'by', by, 'bytes', ARGV[4])
local revision = tostring(redis.call('HINCRBY', KEYS[8], 'revision', 1))
redis.pcall('PUBLISH', KEYS[8], revision)
return revision
