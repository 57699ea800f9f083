-- An acquire request for a share: grants it or, if the name is busy, a place in its queue.
--
-- KEYS and ARGV as for `acquire`, but before the label in ARGV[4] there is what is wanted:
--   r and a space: a reader's share
--   s and two times 10 digits, and a space: permits, and of how many
-- Returns as `acquire`.
local state = redis.call('GET', KEYS[1])
--@include now
--@include shares
local id = ARGV[1]
local FREE = '--------------------------------'
-- Nearly always a name is free that is not shared, and nobody waits for it.
if state and string.sub(state, 1, 37) == '1--- ' .. FREE
  or not state and #redis.call('ZRANGE', KEYS[2], '0', '0') == 0 then
  --@include first_claim
  if string.sub(ARGV[4], 1, 1) == 'r' then
    redis.call('SET', KEYS[1], '1--r ' .. id .. ' ' .. number .. ' ' .. now .. ' ' .. now .. ' ' .. turns .. ' '
      .. ARGV[2] .. string.sub(ARGV[4], 2), 'PX', ARGV[5])
  else
    local permits = string.sub(ARGV[4], 2, 11)
    redis.call('UNLINK', SHARES, RECORDS)
    redis.call('HSET', RECORDS, id, '-- ' .. number .. ' ' .. turns .. ' ' .. now .. ' ' .. permits .. ' '
      .. string.sub(ARGV[4], 23))
    redis.call('ZADD', SHARES, nown + tonumber(ARGV[2]), id)
    redis.call('PEXPIRE', SHARES, ARGV[5])
    redis.call('PEXPIRE', RECORDS, ARGV[5])
    redis.call('SET', KEYS[1], '1--- ssssssssssss' .. string.sub(ARGV[4], 12, 21) .. permits .. ' ' .. number .. ' ' .. now
      .. ' 0000000000000000 ' .. turns .. ' ' .. ARGV[2] .. ' 0000000000000000', 'PX', ARGV[5])
  end
  return 'g' .. number .. turns .. ARGV[2]
end
--@include unfold
--@include lease
--@include compose
local kind, mode = string.sub(ARGV[4], 1, 1), ''
local permits, of = tonumber(string.sub(ARGV[4], 2, 11)), tonumber(string.sub(ARGV[4], 12, 21))
if kind == 'r' then permits, of = nil, nil end
local last = state and tonumber(string.sub(state, 39, 54)) + tonumber(string.sub(state, 90, 94)) - 1 or 0

-- Whether there is room for this claim beside the others.
local function fits()
  return share.kind == kind and (not permits or share.limit == of and permits <= share.limit - share.taken)
end

-- Grants a share. Returns nothing if the claim has one already.
local function take_share(w)
  local turns = ARGV[3]
  --@include reserve
  local record = '-- ' .. number .. ' ' .. turns .. ' ' .. now .. ' ' .. string.format('%010.0f', permits or 0) .. ' '
    .. string.sub(ARGV[4], permits and 23 or 3)
  if share.fresh then redis.call('UNLINK', SHARES, RECORDS) end
  if redis.call('HSETNX', RECORDS, id, record) == 0 then return end
  local ends = share.clock + tonumber(ARGV[2])
  redis.call('ZADD', SHARES, ends, id)
  share.number, share.turns = number, turns
  if permits then share.taken = share.taken + permits end
  local keep = ARGV[5]
  if ends > share.max then
    share.max = ends
    --@include keep_shares
    redis.call('SET', KEYS[1], compose(w), 'PX', keep)
  else
    redis.call('SET', KEYS[1], compose(w), 'KEEPTTL')
  end
  return 'g' .. number .. turns .. ARGV[2]
end

-- Now and then, who joins the others looks for those whose leases have ended.
if share and not waited and share.max > share.clock and string.byte(now, 16) ~= 48 and fits() then
  local grant = take_share('-')
  if grant then return grant end
end
--@include sweep
if share and held then
  local record, ends = redis.call('HGET', RECORDS, id), tonumber(redis.call('ZSCORE', SHARES, id) or 0)
  if record and ends > share.clock then
    local grant = string.sub(record, 4, 19) .. string.sub(record, 21, 25)
    if string.sub(record, 2, 2) == 'd' then
      grant = string.format('%016.0f00001', tonumber(string.sub(record, 4, 19)) + tonumber(string.sub(record, 21, 25)) - 1)
    end
    return 'g' .. grant .. string.format('%014.0f', ends - share.clock)
  end
end
local px = tonumber(ARGV[6]) + 3602000
-- Those who wait use the name as well, unless they have been silent for too long.
local in_use, taken = false, share and share.taken
if (held or waited) and ARGV[10] ~= '1' then
  in_use = (taken ~= nil) ~= (permits ~= nil) or taken and share.limit ~= of
elseif taken and permits and permits > share.limit then
  -- It will never be served, since the limit was lowered.
  redis.call('ZREM', KEYS[2], id, '~' .. id)
  redis.call('HDEL', KEYS[3], id)
  in_use = true
end
local ticket, life
if ARGV[7] and not in_use then
  --@include join
end
if share and not (in_use and held) or not held then
  local mine, queued, whole = nil, false, true
  if ticket or waited or not state and #redis.call('ZRANGE', KEYS[2], '0', '0') > 0 then
    --@include pass_on
    mine, life, queued, whole = pass_on(last, ticket and id)
    if mine then
      return more .. 'g' .. mine
    end
    if life and share then last = tonumber(share.number) + tonumber(share.turns) - 1 end
  end
  in_use = in_use and (life or queued)
  if not in_use and not ticket and whole and (share or not life) then
    if not share or not share.held and not fits() then
      --@include new_share
      share.limit = of
    end
    if fits() then
      return more .. take_share(queued and 'w' or '-')
    end
  end
end
--@include busy
