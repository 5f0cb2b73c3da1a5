#!lua flags=allow-oom
-- Reserves bytes of a tenant for the rejected lines of a job. May be repeated.
-- Runs above maxmemory too: it drains Redis, and intake has stopped well below.
-- KEYS[1] bytes of the tenant's rejected lines, KEYS[2] when those of ended jobs expire
-- ARGV[1] job, ARGV[2] bytes of the job in all, ARGV[3] most bytes of the tenant, ARGV[4] milliseconds to keep both keys
-- Returns the bytes that the job may have in all.
local function add(job, bytes)
  redis.call('HINCRBY', KEYS[1], 'all', string.format('%.0f', bytes))
  redis.call('HINCRBY', KEYS[1], job, string.format('%.0f', bytes))
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for _, job in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now, 'LIMIT', 0, 100)) do
  add(job, -(tonumber(redis.call('HGET', KEYS[1], job)) or 0))
  redis.call('HDEL', KEYS[1], job)
  redis.call('ZREM', KEYS[2], job)
end
local reserved = tonumber(redis.call('HGET', KEYS[1], ARGV[1])) or 0
local free = tonumber(ARGV[3]) - (tonumber(redis.call('HGET', KEYS[1], 'all')) or 0)
local more = math.min(tonumber(ARGV[2]) - reserved, free)
if more > 0 then
  add(ARGV[1], more)
  reserved = reserved + more
end
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return reserved
