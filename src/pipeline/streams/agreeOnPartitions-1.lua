#!lua flags=allow-oom
-- Stores the number of partitions, unless one is stored already.
-- Runs above maxmemory, because it helps to drain Redis. Intake stops well below.
-- KEYS[1] number of partitions
-- ARGV[1] the number to store
-- Returns the stored number.
local stored = redis.call('GET', KEYS[1])
if stored then
  return tonumber(stored)
end
redis.call('SET', KEYS[1], ARGV[1])
return tonumber(ARGV[1])
