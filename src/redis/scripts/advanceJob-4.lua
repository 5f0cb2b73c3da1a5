#!lua flags=allow-oom
-- Records that a chunk was fed, and frees it. Repeating it changes nothing, nor does it behind the end of the job.
-- Runs above maxmemory too: it is what drains Redis, and intake has stopped well below.
-- KEYS[1] job, KEYS[2] chunks, KEYS[3] errors, KEYS[4] the lines of the chunk
-- ARGV[1] number of the chunk, ARGV[2] how many errors are kept
-- ARGV[3] number of counters, then fields and increments in turn; then errors, as JSON
-- Returns 1; 0 when the chunk was recorded before; -1 when the job has ended.
local status = redis.call('HGET', KEYS[1], 'status')
if status ~= 'queued' and status ~= 'running' then
  return -1
end
if redis.call('HGET', KEYS[1], 'next') ~= ARGV[1] then
  return 0
end
redis.call('HSET', KEYS[1], 'next', tonumber(ARGV[1]) + 1, 'status', 'running')
local at = 4
for _ = 1, tonumber(ARGV[3]) do
  redis.call('HINCRBY', KEYS[1], ARGV[at], ARGV[at + 1])
  at = at + 2
end
local room = tonumber(ARGV[2]) - redis.call('LLEN', KEYS[3])
for i = at, math.min(#ARGV, at + room - 1) do
  redis.call('RPUSH', KEYS[3], ARGV[i])
end
redis.call('XDEL', KEYS[2], ARGV[1] .. '-0')
redis.call('UNLINK', KEYS[4])
return 1
