#!lua flags=allow-oom
-- Reserves bytes of a tenant for the rejected lines of an open job. May be repeated. An ended job has no more lines, and nothing would free
-- its bytes.
-- Runs above maxmemory too: it drains Redis, and intake has stopped well below.
-- KEYS[1] bytes of the tenant's rejected lines, KEYS[2] when those of ended jobs expire, KEYS[3] open jobs of the tenant
-- ARGV[1] job, ARGV[2] bytes of the job in all, ARGV[3] most bytes of the tenant, ARGV[4] milliseconds to keep both keys
-- Returns the bytes that the job may have in all.
if redis.call('SISMEMBER', KEYS[3], ARGV[1]) == 0 then
  return 0
end
local function add(job, bytes)
  redis.call('HINCRBY', KEYS[1], 'all', string.format('%.0f', bytes))
  redis.call('HINCRBY', KEYS[1], job, string.format('%.0f', bytes))
end
local function free(job)
  add(job, -(tonumber(redis.call('HGET', KEYS[1], job)) or 0))
  redis.call('HDEL', KEYS[1], job)
  redis.call('ZREM', KEYS[2], job)
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for _, job in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now, 'LIMIT', 0, 100)) do
  free(job)
end
local reserved = tonumber(redis.call('HGET', KEYS[1], ARGV[1])) or 0
local function missing()
  return tonumber(ARGV[2]) - reserved
end
local function room()
  return tonumber(ARGV[3]) - (tonumber(redis.call('HGET', KEYS[1], 'all')) or 0)
end
-- A fail-over may leave bytes of jobs that are neither open nor kept.
if missing() > room() then
  for _, job in ipairs(redis.call('HKEYS', KEYS[1])) do
    if job ~= 'all' and redis.call('SISMEMBER', KEYS[3], job) == 0 and not redis.call('ZSCORE', KEYS[2], job) then
      free(job)
    end
  end
end
local more = math.min(missing(), room())
if more > 0 then
  add(ARGV[1], more)
  reserved = reserved + more
end
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return reserved
