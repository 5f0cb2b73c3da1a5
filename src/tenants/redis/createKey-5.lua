-- Creates an API key.
-- KEYS[1] tenants, KEYS[2] keys, KEYS[3] prefixes, KEYS[4] the tenant's keys, KEYS[5] pulled sources
-- ARGV[1] tenant id, ARGV[2] SHA-256 of the key, ARGV[3] prefix, ARGV[4] the key's JSON, ARGV[5] channel of changes
-- ARGV[6] 1 if ipid pulls the source, else 0
-- Returns 1; 0 when the tenant does not exist; -1 when another key has the prefix.
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  return 0
end
if redis.call('HSETNX', KEYS[3], ARGV[3], ARGV[2]) == 0 then
  return -1
end
redis.call('HSET', KEYS[2], ARGV[2], ARGV[4])
redis.call('RPUSH', KEYS[4], ARGV[2])
if ARGV[6] == '1' then
  redis.call('SADD', KEYS[5], ARGV[3])
end
redis.call('PUBLISH', ARGV[5], 'key')
return 1
