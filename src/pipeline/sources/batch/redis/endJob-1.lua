#!lua flags=allow-oom
-- Writes how a batch job ended. One that has ended stays as it is.
-- Runs above maxmemory too: it is what drains Redis, and intake has stopped well below.
-- KEYS[1] job
-- ARGV[1] milliseconds that the record is kept; ARGV[2] the chunk that it ends at unless it has moved on, or '' wherever it
-- stands; then fields and values
-- Returns 1, or 0 when it had ended before, or has moved on.
local status = redis.call('HGET', KEYS[1], 'status')
if status ~= 'queued' and status ~= 'running' then
  return 0
end
if ARGV[2] ~= '' and redis.call('HGET', KEYS[1], 'next') ~= ARGV[2] then
  return 0
end
redis.call('HSET', KEYS[1], unpack(ARGV, 3))
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
