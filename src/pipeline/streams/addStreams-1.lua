#!lua flags=allow-oom
-- Adds names of streams to those that are known.
-- Runs above maxmemory too: it is what drains Redis, and intake has stopped well below.
-- KEYS[1] names of streams
-- ARGV names
-- Returns all names.
redis.call('SADD', KEYS[1], unpack(ARGV))
return redis.call('SMEMBERS', KEYS[1])
