-- Included: tells `head`, and whoever comes to be first, that the lock may be free. Takes `channel`, what the channels of those who wait
-- begin with.
--
-- A client of cotter has subscribed before it joins the line: where nobody listens it is gone, and the next one is told. The version
-- of the UUID tells it from one of Redisson, which joins first.
while head and redis.call('PUBLISH', channel .. head, '0') == 0 and string.sub(head, 15, 15) == '8' do
  redis.call('LPOP', KEYS[3])
  redis.call('ZREM', KEYS[4], head)
  head = redis.call('LINDEX', KEYS[3], 0)
end
