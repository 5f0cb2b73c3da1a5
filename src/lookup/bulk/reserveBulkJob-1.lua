-- Makes room for a bulk lookup job of a tenant. A reservation that is not used ends by itself.
-- KEYS[1] open jobs of the tenant
-- ARGV[1] job, ARGV[2] how many jobs the tenant may have open, ARGV[3] milliseconds until the reservation ends
-- Returns 1, or 0 when the tenant has as many already.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then
  return 0
end
redis.call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[3]), ARGV[1])
return 1
