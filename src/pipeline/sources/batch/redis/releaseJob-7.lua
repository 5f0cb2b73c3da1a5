#!lua flags=allow-oom
-- Removes a job from the open jobs. An upload that never became a job also leaves its tenant's list; a job leaves it when its
-- record expires. May be repeated.
-- Runs above maxmemory too: it drains Redis, and intake has stopped well below.
-- KEYS[1] open jobs, KEYS[2] open jobs of the tenant, KEYS[3] jobs of the tenant, KEYS[4] ended jobs
-- KEYS[5] spooled bytes of the tenant's open jobs, KEYS[6] bytes of its rejected lines, KEYS[7] when they expire
-- ARGV[1] job, ARGV[2] tenant, ARGV[3] milliseconds until the record expires, '' without a record
-- ARGV[4] prefix of the keys of jobs of a tenant, in the same slot, ARGV[5] milliseconds until its rejected lines expire
-- Returns 1.
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('SREM', KEYS[2], ARGV[1])
redis.call('HDEL', KEYS[5], ARGV[1])
if ARGV[3] == '' then
  redis.call('ZREM', KEYS[3], ARGV[1])
  return 1
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if redis.call('HEXISTS', KEYS[6], ARGV[1]) == 1 then
  redis.call('ZADD', KEYS[7], 'NX', string.format('%.0f', now + ARGV[5]), ARGV[1])
  redis.call('PEXPIRE', KEYS[7], ARGV[3])
end
redis.call('ZADD', KEYS[4], 'NX', string.format('%.0f', now + ARGV[3]), ARGV[2] .. ' ' .. ARGV[1])
for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', now, 'LIMIT', 0, 100)) do
  local tenant, job = string.match(member, '^(%S+) (%S+)$')
  redis.call('ZREM', ARGV[4] .. tenant, job)
  redis.call('ZREM', KEYS[4], member)
end
return 1
