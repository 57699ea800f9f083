-- Extends the leases of permits, each grant on its own.
--
-- KEYS  for each grant, who holds permits of its semaphore, and until when
-- ARGV  1 ttl (ms)   2 the id that stands for an evicted holder   3... for each grant, how many permits it has, and their ids
-- Returns what `extend` does
--@include now
local ms, ttl, answers, at = math.floor(nown / 1000), tonumber(ARGV[1]), {}, 3
for i, key in ipairs(KEYS) do
  local first, last, least = at + 1, at + tonumber(ARGV[at]), nil
  at = last + 1
  for j = first, last do
    -- A key of another type must not keep the others from being extended.
    local ends = redis.pcall('ZSCORE', key, ARGV[j])
    ends = type(ends) == 'string' and tonumber(ends) or 0
    least = math.min(least or ends, ends)
  end
  if least <= ms then
    answers[i] = type(redis.pcall('ZSCORE', key, ARGV[2])) == 'string' and 'e' or '-'
  else
    if least < ms + ttl then
      for j = first, last do redis.call('ZADD', key, string.format('%.0f', ms + ttl), ARGV[j]) end
    end
    answers[i] = string.format('%.0f', math.max(least - ms, ttl))
  end
end
return table.concat(answers, ' ')
