#!lua flags=allow-oom
-- Cancels a batch job, unless it has already ended.
-- Runs above maxmemory too: it drains Redis, and intake has stopped well below.
-- KEYS[1] job
-- ARGV[1] tenant, ARGV[2] milliseconds to keep the record, ARGV[3] text of the failure
-- Returns 1, also when it was cancelled before; 0 when it has ended in another way; -1 when the tenant has no job of this id.
local job = redis.call('HMGET', KEYS[1], 'tenant_id', 'status', 'failure')
if job[1] ~= ARGV[1] then
  return -1
end
if job[2] == 'queued' or job[2] == 'running' then
  local time = redis.call('TIME')
  local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
  redis.call('HSET', KEYS[1], 'status', 'failed', 'failure', ARGV[3], 'ended_at', now)
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return 1
end
return job[3] == ARGV[3] and 1 or 0
