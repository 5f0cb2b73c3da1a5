-- Reserves one of a tenant's open bulk lookup jobs. An unused reservation expires.
-- KEYS[1] open jobs of the tenant
-- ARGV[1] job, ARGV[2] limit of the tenant's open jobs, ARGV[3] time to live of the reservation, milliseconds
-- Returns 1, or 0 when the limit is reached.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then
  return 0
end
redis.call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[3]), ARGV[1])
return 1
