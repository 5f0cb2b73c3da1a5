#!lua flags=allow-oom
-- Counts lookups on a daily quota, all of them or none.
-- Runs above maxmemory too: it takes a few bytes a tenant, and what needs more is refused by itself.
-- KEYS[1] counter of the day
-- ARGV[1] lookups wanted, ARGV[2] lookups allowed a day, ARGV[3] milliseconds after which the counter is not needed
-- Returns { 1 when they were counted, else 0; lookups counted so far }.
local used = tonumber(redis.call('GET', KEYS[1]) or '0')
local wanted = tonumber(ARGV[1])
if used + wanted > tonumber(ARGV[2]) then
  return { 0, used }
end
used = redis.call('INCRBY', KEYS[1], wanted)
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return { 1, used }
