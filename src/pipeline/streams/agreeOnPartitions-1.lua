#!lua flags=allow-oom
-- Writes the number of partitions, unless one is written already.
-- Runs above maxmemory too: it is what drains Redis, and intake has stopped well below.
-- KEYS[1] number of partitions
-- ARGV[1] the number wanted
-- Returns the number that is written then.
local stored = redis.call('GET', KEYS[1])
if stored then
  return tonumber(stored)
end
redis.call('SET', KEYS[1], ARGV[1])
return tonumber(ARGV[1])
