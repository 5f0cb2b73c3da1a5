#!lua flags=allow-oom
-- Reserves bytes for the rejected lines of an open job. A tenant may have a quarter of what others leave free, so a bound for all tenants is
-- never passed, and leaves something for the next. May be repeated. An ended job has no more lines, and nothing would free its bytes.
-- Runs above maxmemory too: it drains Redis, and intake has stopped well below.
-- KEYS[1] bytes of the tenant's rejected lines, KEYS[2] when those of ended jobs expire, KEYS[3] open jobs of the tenant
-- KEYS[4] bytes of all tenants
-- ARGV[1] job, ARGV[2] bytes of the job in all, ARGV[3] most bytes of all tenants, ARGV[4] milliseconds to keep the keys, ARGV[5] tenant
-- ARGV[6] milliseconds between two looks at all tenants, ARGV[7] and ARGV[8] prefixes of the first two keys for any tenant, in the same slot
-- Returns the bytes that the job may have in all.
if redis.call('SISMEMBER', KEYS[3], ARGV[1]) == 0 then
  return 0
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function bytesOf(key, field)
  return tonumber(redis.call('HGET', key, field)) or 0
end
local function add(key, field, bytes)
  return redis.call('HINCRBY', key, field, string.format('%.0f', bytes))
end
local function free(tenant, job)
  local key = ARGV[7] .. tenant
  local bytes = bytesOf(key, job)
  -- The hash may have expired.
  if bytes > 0 then
    add(key, 'all', -bytes)
    redis.call('HDEL', key, job)
  end
  redis.call('ZREM', ARGV[8] .. tenant, job)
end
local function freeExpired(tenant)
  for _, job in ipairs(redis.call('ZRANGEBYSCORE', ARGV[8] .. tenant, '-inf', now, 'LIMIT', 0, 100)) do
    free(tenant, job)
  end
end
local function count(tenant)
  local bytes = bytesOf(ARGV[7] .. tenant, 'all')
  add(KEYS[4], '*all', bytes - bytesOf(KEYS[4], tenant))
  if bytes > 0 then
    redis.call('HSET', KEYS[4], tenant, string.format('%.0f', bytes))
  else
    redis.call('HDEL', KEYS[4], tenant)
  end
end

freeExpired(ARGV[5])
count(ARGV[5])
local reserved = bytesOf(KEYS[1], ARGV[1])
local function missing()
  return tonumber(ARGV[2]) - reserved
end
local function room()
  local own = bytesOf(KEYS[1], 'all')
  local others = bytesOf(KEYS[4], '*all') - own
  return math.floor((tonumber(ARGV[3]) - others) / 4) - own
end
-- A fail-over may leave bytes of jobs that are neither open nor kept. Some are looked at each time: a tenant may have 100,000 jobs.
if missing() > room() then
  for _, job in ipairs(redis.call('HRANDFIELD', KEYS[1], 100)) do
    if job ~= 'all' and redis.call('SISMEMBER', KEYS[3], job) == 0 and not redis.call('ZSCORE', KEYS[2], job) then
      free(ARGV[5], job)
    end
  end
  count(ARGV[5])
end
-- Other tenants free what has expired only when they reserve bytes themselves.
if missing() > room() and now - bytesOf(KEYS[4], '*swept_at') >= tonumber(ARGV[6]) then
  redis.call('HSET', KEYS[4], '*swept_at', string.format('%.0f', now))
  for _, tenant in ipairs(redis.call('HRANDFIELD', KEYS[4], 1000)) do
    if string.sub(tenant, 1, 1) ~= '*' then
      freeExpired(tenant)
      count(tenant)
    end
  end
end
local more = math.min(missing(), room())
if more > 0 then
  add(KEYS[1], 'all', more)
  add(KEYS[1], ARGV[1], more)
  count(ARGV[5])
  reserved = reserved + more
end
redis.call('PEXPIRE', KEYS[1], ARGV[4])
redis.call('PEXPIRE', KEYS[4], ARGV[4])
return reserved
