#!lua flags=allow-oom
-- Replaces a part of a job's rejected lines, unless they have expired. May be repeated.
-- Runs above maxmemory too: the new part is smaller.
-- KEYS[1] rejected lines
-- ARGV[1] number of the part, from 0, ARGV[2] the new part
-- Returns 1, or 0 when they have expired.
if redis.call('EXISTS', KEYS[1]) == 0 then
  return 0
end
redis.call('LSET', KEYS[1], ARGV[1], ARGV[2])
return 1
