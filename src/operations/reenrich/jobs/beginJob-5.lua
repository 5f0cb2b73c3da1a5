-- Turns the waiting job of a tenant into its running job, under the lease. Running it twice begins it once.
-- KEYS[1 to 3] and ARGV[1 to 3] as in writeUnderLease-4.lua; KEYS[4] waiting jobs, KEYS[5] jobs
-- ARGV[4] tenant, ARGV[5] JSON of the waiting job as it was read, ARGV[6] JSON of the running job
-- Returns 1, 0 when the waiting job has changed, or -1 when the lease is another's.
local call = redis.call
if not holdsShare() then
  return -1
end
if call('HGET', KEYS[4], ARGV[4]) ~= ARGV[5] then
  return 0
end
call('HDEL', KEYS[4], ARGV[4])
call('HSET', KEYS[5], ARGV[4], ARGV[6])
return 1
