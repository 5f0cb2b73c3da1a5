#!lua flags=allow-oom
-- Ends a batch job because its tenant wants it. Of this and of its end by itself, the first one counts.
-- Runs above maxmemory too: it is what drains Redis, and intake has stopped well below.
-- KEYS[1] job
-- ARGV[1] tenant, ARGV[2] milliseconds that the record is kept, ARGV[3] why it failed
-- Returns 1, also when it was cancelled before; 0 when it has ended otherwise; -1 when the tenant has no such job.
local job = redis.call('HMGET', KEYS[1], 'tenant_id', 'status', 'failure')
if job[1] ~= ARGV[1] then
  return -1
end
if job[2] == 'queued' or job[2] == 'running' then
  redis.call('HSET', KEYS[1], 'status', 'failed', 'failure', ARGV[3])
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return 1
end
return job[3] == ARGV[3] and 1 or 0
