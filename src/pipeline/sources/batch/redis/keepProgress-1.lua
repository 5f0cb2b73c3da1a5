#!lua flags=allow-oom
-- Lets the progress of a batch job expire, also when nothing is counted yet but will be.
-- Runs above maxmemory too: it is what drains Redis, and intake has stopped well below.
-- KEYS[1] progress of the job in a partition
-- ARGV[1] milliseconds that it is kept, ARGV[2] one of its fields
-- Returns 1.
redis.call('HINCRBY', KEYS[1], ARGV[2], 0)
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
