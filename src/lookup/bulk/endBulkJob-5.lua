#!lua flags=allow-oom
-- Ends a bulk lookup job, stores the results of a completed one, and acknowledges its entry.
-- Runs above maxmemory too, because it drains Redis. Intake stops well below that.
-- KEYS[1] job, KEYS[2] stream of jobs, KEYS[3] open jobs of the tenant, KEYS[4] its ended jobs, KEYS[5] their bytes
-- ARGV[1] group, ARGV[2] entry, ARGV[3] job, ARGV[4] time to live of the record, milliseconds
-- ARGV[5] bytes that a record takes beside these, then fields and values of the job's record
-- Returns 1, or 0 without a change when the entry was acknowledged before.
if redis.call('XACK', KEYS[2], ARGV[1], ARGV[2]) == 0 then
  return 0
end
redis.call('XDEL', KEYS[2], ARGV[2])
redis.call('ZREM', KEYS[3], ARGV[3])
if redis.call('EXISTS', KEYS[1]) == 1 then
  redis.call('HDEL', KEYS[1], 'work')
  redis.call('HSET', KEYS[1], unpack(ARGV, 6))
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
  local bytes = tonumber(ARGV[5])
  for i = 6, #ARGV do
    bytes = bytes + #ARGV[i]
  end
  local time = redis.call('TIME')
  local until_ms = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[4]
  redis.call('ZADD', KEYS[4], string.format('%.0f', until_ms), ARGV[3] .. ' ' .. bytes)
  redis.call('INCRBY', KEYS[5], bytes)
  -- The last job that ends is the last to expire.
  redis.call('PEXPIRE', KEYS[4], ARGV[4])
  redis.call('PEXPIRE', KEYS[5], ARGV[4])
end
return 1
