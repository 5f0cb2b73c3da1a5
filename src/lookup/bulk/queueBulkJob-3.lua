-- Queues a bulk lookup job, and extends its reservation until the job ends. Idempotent.
-- KEYS[1] job, KEYS[2] stream of jobs, KEYS[3] open jobs of the tenant
-- ARGV[1] job, ARGV[2] tenant; then fields and values of the job's record
-- Returns 1; 0 when the reservation has expired.
if redis.call('EXISTS', KEYS[1]) == 1 then
  return 1
end
if not redis.call('ZSCORE', KEYS[3], ARGV[1]) then
  return 0
end
redis.call('HSET', KEYS[1], unpack(ARGV, 3))
redis.call('XADD', KEYS[2], '*', 'job', ARGV[1], 'tenant', ARGV[2])
redis.call('ZADD', KEYS[3], '+inf', ARGV[1])
return 1
