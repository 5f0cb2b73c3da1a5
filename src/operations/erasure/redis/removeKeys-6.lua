-- Removes all keys of a tenant.
-- KEYS[1] keys, KEYS[2] prefixes, KEYS[3] uses, KEYS[4] the tenant's keys, KEYS[5] tenants
-- KEYS[6] pulled sources
-- ARGV[1] tenant id, which must be marked for deletion, otherwise nothing happens; ARGV[2] channel of changes
-- Returns the number of removed keys.
local tenant = redis.call('HGET', KEYS[5], ARGV[1])
if not tenant or not cjson.decode(tenant).deleting then
  return 0
end
local hashes = redis.call('LRANGE', KEYS[4], 0, -1)
for _, hash in ipairs(hashes) do
  local key = redis.call('HGET', KEYS[1], hash)
  if key then
    local prefix = cjson.decode(key).prefix
    redis.call('HDEL', KEYS[2], prefix)
    redis.call('SREM', KEYS[6], prefix)
  end
  redis.call('HDEL', KEYS[1], hash)
  redis.call('HDEL', KEYS[3], hash)
end
redis.call('DEL', KEYS[4])
redis.call('PUBLISH', ARGV[2], 'key')
return #hashes
