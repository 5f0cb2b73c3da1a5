-- Notes that a person cancelled the running job of a tenant. Running it twice changes nothing more.
-- KEYS[1] jobs, KEYS[2] cancelled jobs
-- ARGV[1] tenant, ARGV[2] job
-- Returns 1, 2 when it replaces events and cannot end, or 0 when it does not run.
local call = redis.call
local json = call('HGET', KEYS[1], ARGV[1])
local job = json and cjson.decode(json)
if not job or job.jobId ~= ARGV[2] or job.state ~= 'running' then
  return 0
end
if job.step == 'replacing' then
  return 2
end
call('HSET', KEYS[2], ARGV[1], ARGV[2])
return 1
