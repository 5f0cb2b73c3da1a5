#!lua flags=allow-oom
-- Writes how a batch job ended. One that has ended stays as it is.
-- Runs above maxmemory too: it is what drains Redis, and intake has stopped well below.
-- KEYS[1] job
-- ARGV[1] milliseconds that the record is kept, then fields and values
-- Returns 1, or 0 when it had ended before.
local status = redis.call('HGET', KEYS[1], 'status')
if status ~= 'queued' and status ~= 'running' then
  return 0
end
redis.call('HSET', KEYS[1], unpack(ARGV, 2))
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
