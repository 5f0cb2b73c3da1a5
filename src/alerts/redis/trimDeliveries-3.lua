#!lua flags=allow-oom
-- Removes finished messages that are too old or too many.
-- KEYS[1] deliveries of the tenant, KEYS[2] their times, KEYS[3] finished messages
-- ARGV[1] most finished messages, ARGV[2] messages that finished before this time are removed, ms
-- Returns the number of remaining ones.
trimDeliveries(KEYS[1], KEYS[2], KEYS[3], tonumber(ARGV[1]), ARGV[2])
return call('ZCARD', KEYS[3])
