#!lua flags=allow-oom
-- Writes a value only while the lease is the writer's.
-- Runs above maxmemory too: it is what drains Redis, and intake has stopped well below.
-- KEYS[1] owner of the lease, KEYS[2] key to write
-- ARGV[1] who writes, ARGV[2] value; '' deletes the key
-- Returns 1, or 0 when the lease is not the writer's.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
if ARGV[2] == '' then
  redis.call('DEL', KEYS[2])
else
  redis.call('SET', KEYS[2], ARGV[2])
end
return 1
