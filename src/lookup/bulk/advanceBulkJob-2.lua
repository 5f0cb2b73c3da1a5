#!lua flags=allow-oom
-- Reports the progress of a bulk lookup job, and that its worker is alive.
-- Runs above maxmemory too, because it drains Redis. Intake stops well below that.
-- KEYS[1] job, KEYS[2] stream of jobs
-- ARGV[1] group, ARGV[2] consumer, ARGV[3] entry, ARGV[4] addresses finished
-- Returns 1, or 0 without a change when the entry is not the consumer's.
if #redis.call('XPENDING', KEYS[2], ARGV[1], ARGV[3], ARGV[3], 1, ARGV[2]) == 0 then
  return 0
end
redis.call('XCLAIM', KEYS[2], ARGV[1], ARGV[2], 0, ARGV[3], 'JUSTID')
if redis.call('EXISTS', KEYS[1]) == 1 then
  local current = tonumber(redis.call('HGET', KEYS[1], 'current'))
  redis.call('HSET', KEYS[1], 'status', 'running', 'current', math.max(current, tonumber(ARGV[4])))
end
return 1
