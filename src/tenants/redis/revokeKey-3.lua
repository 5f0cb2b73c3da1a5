-- Revokes an API key for ever. A revoked key keeps its first date.
-- KEYS[1] keys, KEYS[2] prefixes, KEYS[3] uses
-- ARGV[1] prefix, ARGV[2] time of revocation, ARGV[3] channel of changes, ARGV[4] tenant that must own the key; '': any
-- Returns the key's JSON and its last use ('' when never); an empty array when there is no such key.
local hash = redis.call('HGET', KEYS[2], ARGV[1])
if not hash then
  return {}
end
local json = redis.call('HGET', KEYS[1], hash)
local key = cjson.decode(json)
if ARGV[4] ~= '' and key.tenant_id ~= ARGV[4] then
  return {}
end
if not key.revoked_at then
  key.revoked_at = ARGV[2]
  json = cjson.encode(key)
  redis.call('HSET', KEYS[1], hash, json)
end
redis.call('PUBLISH', ARGV[3], 'key')
return { json, redis.call('HGET', KEYS[3], hash) or '' }
