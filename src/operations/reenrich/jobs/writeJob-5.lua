-- Writes the running job of a tenant, under the lease.
-- KEYS[1 to 3] and ARGV[1 to 3] as in writeUnderLease-4.lua; KEYS[4] jobs, KEYS[5] cancelled jobs
-- ARGV[4] tenant, ARGV[5] job, ARGV[6] JSON
-- Returns 1, 2 when a person cancelled the job, 0 when it was removed with its tenant, or -1 when the lease is another's.
local call = redis.call
if not holdsShare() then
  return -1
end
local json = call('HGET', KEYS[4], ARGV[4])
if not json or cjson.decode(json).jobId ~= ARGV[5] then
  return 0
end
call('HSET', KEYS[4], ARGV[4], ARGV[6])
if call('HGET', KEYS[5], ARGV[4]) == ARGV[5] then
  return 2
end
return 1
