#!lua flags=allow-oom
-- Raises the form of the data in Redis, if it is lower.
-- Runs above maxmemory, because it helps to drain Redis. Intake stops well below.
-- KEYS[1] form of the data
-- ARGV[1] the form of this version, ARGV[2] this version
-- Returns the form before, and the version that brought it; 1 and '' for data of version 0.1.0.
local stored = redis.call('HMGET', KEYS[1], 'form', 'version')
local form = tonumber(stored[1] or 1)
if form < tonumber(ARGV[1]) then
  redis.call('HSET', KEYS[1], 'form', ARGV[1], 'version', ARGV[2])
end
return { form, stored[2] or '' }
