#!lua flags=allow-oom
-- Sets an expiry on the progress of a batch job. First creates it, because events may still be counted later.
-- Runs above maxmemory too: it drains Redis, and intake has stopped well below.
-- KEYS[1] progress of the job in a partition
-- ARGV[1] milliseconds to keep it, ARGV[2] one of its fields
-- Returns 1.
redis.call('HINCRBY', KEYS[1], ARGV[2], 0)
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
