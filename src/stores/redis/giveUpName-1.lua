#!lua flags=allow-oom
-- Gives a name up. May be repeated.
-- Runs above maxmemory too: it frees memory.
-- KEYS[1] name
-- ARGV[1] the id that gives it up
-- Returns 1, or 0 when another id holds the name, or none.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
return redis.call('DEL', KEYS[1])
