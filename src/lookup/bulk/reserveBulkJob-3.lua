-- Reserves one of a tenant's open bulk lookup jobs, unless its ended jobs take too many bytes. An unused reservation expires.
-- KEYS[1] open jobs of the tenant, KEYS[2] its ended jobs, KEYS[3] their bytes
-- ARGV[1] job, ARGV[2] limit of the tenant's open jobs, ARGV[3] time to live of the reservation, milliseconds, ARGV[4] limit of the bytes
-- Returns 1; 0 when the limit of open jobs is reached; when that of the bytes is, the milliseconds until an ended job expires, below 0.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then
  return 0
end
for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now, 'LIMIT', 0, 1000)) do
  redis.call('DECRBY', KEYS[3], string.match(member, ' (%d+)$'))
  redis.call('ZREM', KEYS[2], member)
end
local first = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')
if first[2] and (tonumber(redis.call('GET', KEYS[3])) or 0) >= tonumber(ARGV[4]) then
  return math.min(-1, now - first[2])
end
redis.call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[3]), ARGV[1])
return 1
