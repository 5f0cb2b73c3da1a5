-- Opens a job of a tenant.
-- KEYS[1] open jobs, KEYS[2] open jobs of the tenant, KEYS[3] jobs of the tenant
-- ARGV[1] job, ARGV[2] tenant, ARGV[3] most open jobs of the tenant
-- ARGV[4] time of receipt in milliseconds, ARGV[5] channel that announces it to feeders
-- Returns 1, or 0 when the tenant has too many open jobs.
if redis.call('SCARD', KEYS[2]) >= tonumber(ARGV[3]) then
  return 0
end
redis.call('SADD', KEYS[2], ARGV[1])
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZADD', KEYS[3], ARGV[4], ARGV[1])
redis.call('PUBLISH', ARGV[5], '')
return 1
