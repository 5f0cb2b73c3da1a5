#!lua flags=allow-oom
-- Adds stream names to the set of known streams.
-- Runs above maxmemory, because it helps to drain Redis. Intake stops well below.
-- KEYS[1] set of stream names
-- ARGV names
-- Returns all names.
redis.call('SADD', KEYS[1], unpack(ARGV))
return redis.call('SMEMBERS', KEYS[1])
