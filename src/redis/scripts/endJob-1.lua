#!lua flags=allow-oom
-- Writes how a batch job ended. Repeating it changes nothing.
-- Runs above maxmemory too: it is what drains Redis, and intake has stopped well below.
-- KEYS[1] job
-- ARGV[1] milliseconds that the record is kept, then fields and values
-- Returns 1.
redis.call('HSET', KEYS[1], unpack(ARGV, 2))
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
