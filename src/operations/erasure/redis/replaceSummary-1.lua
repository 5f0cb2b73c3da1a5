-- Replaces the summary of a batch job that is still what it was when it was read. A record that has expired stays away.
-- KEYS[1] job
-- ARGV[1] the summary as it was read, ARGV[2] the new one
-- Returns 1, or 0 when nothing was replaced.
if redis.call('HGET', KEYS[1], 'summary') ~= ARGV[1] then
  return 0
end
redis.call('HSET', KEYS[1], 'summary', ARGV[2])
return 1
