#!lua flags=allow-oom
-- Writes a key, above maxmemory too: what was begun is to come to its end.
-- KEYS[1] the key
-- ARGV[1] its value
-- Returns 1.
redis.call('SET', KEYS[1], ARGV[1])
return 1
