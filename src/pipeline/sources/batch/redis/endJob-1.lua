#!lua flags=allow-oom
-- Writes how a batch job ended, unless it has already ended.
-- Runs above maxmemory too: it drains Redis, and intake has stopped well below.
-- KEYS[1] job
-- ARGV[1] milliseconds to keep the record; ARGV[2] the chunk that must still be the next one, or '' for any; then fields and values
-- Returns 1, or 0 when the job had ended before or has another next chunk.
local status = redis.call('HGET', KEYS[1], 'status')
if status ~= 'queued' and status ~= 'running' then
  return 0
end
if ARGV[2] ~= '' and redis.call('HGET', KEYS[1], 'next') ~= ARGV[2] then
  return 0
end
local time = redis.call('TIME')
redis.call('HSET', KEYS[1], 'ended_at', string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000)), unpack(ARGV, 3))
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
