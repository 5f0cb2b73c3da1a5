-- Notes that all events of a run are replaced, if it is the run of a tenant's running job, under the lease. Another command may have finished
-- it for a job whose process was killed.
-- KEYS[1 to 3] and ARGV[1 to 3] as in writeUnderLease-4.lua; KEYS[4] jobs, KEYS[5] replaced runs
-- ARGV[4] tenant, ARGV[5] run
-- Returns 1, 0 when it is no job's run, or -1 when the lease is another's.
local call = redis.call
if not holdsShare() then
  return -1
end
local json = call('HGET', KEYS[4], ARGV[4])
local job = json and cjson.decode(json)
if not job or job.run ~= ARGV[5] or job.state ~= 'running' then
  return 0
end
call('HSET', KEYS[5], ARGV[4], ARGV[5])
return 1
