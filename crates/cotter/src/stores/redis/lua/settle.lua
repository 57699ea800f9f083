-- Included: passes on what is free, and stores what is left. Takes `last`, `used` (5 digits), `retain` and `px`.
--@include pass_on
local _, life, queued = pass_on(last)
if not life and state then
  if share and (share.held or share.taken and queued) then
    --@include compose
    redis.call('SET', KEYS[1], compose(queued and 'w' or '-'), 'KEEPTTL')
  else
    redis.call('SET', KEYS[1], (queued and '1w-- ' or '1--- ') .. FREE .. string.sub(state, 38, 89) .. used
      .. string.sub(state, 95, 110), 'PX', string.format('%.0f', retain + (queued and 3600000 or 0)))
  end
end
