#!lua flags=allow-oom
-- Forgets the bytes of a removed tenant's rejected lines. May be repeated.
-- Runs above maxmemory too: it only deletes.
-- KEYS[1] bytes of the tenant's rejected lines, KEYS[2] when those of ended jobs expire, KEYS[3] bytes of all tenants
-- ARGV[1] tenant
-- Returns 1.
redis.call('DEL', KEYS[1], KEYS[2])
local bytes = redis.call('HGET', KEYS[3], ARGV[1])
if not bytes then
  return 1
end
redis.call('HDEL', KEYS[3], ARGV[1])
if redis.call('HINCRBY', KEYS[3], '*all', '-' .. bytes) <= 0 then
  redis.call('DEL', KEYS[3])
end
return 1
