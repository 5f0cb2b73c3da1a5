-- Replaces the summary of a batch job if it has not changed since it was read. Does not bring an expired record back.
-- KEYS[1] job
-- ARGV[1] the summary as it was read, ARGV[2] the new one
-- Returns 1, or 0 when it replaced nothing.
if redis.call('HGET', KEYS[1], 'summary') ~= ARGV[1] then
  return 0
end
redis.call('HSET', KEYS[1], 'summary', ARGV[2])
return 1
