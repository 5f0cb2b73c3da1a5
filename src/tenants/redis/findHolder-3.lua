-- Finds the holder of an active key.
-- KEYS[1] keys, KEYS[2] tenants, KEYS[3] prefixes
-- ARGV[1] SHA-256 of the key, ARGV[2] id of the source that the key names, ARGV[3] the key itself; both '' unless it is a browser key
-- Returns the tenant's id and JSON and the SHA-256 under which the key is stored, and for a source key also its prefix and the JSON of
-- the source; an empty array when the key is unknown or revoked, or the tenant is being deleted.
local hash = ARGV[1]
if ARGV[2] ~= '' then
  hash = redis.call('HGET', KEYS[3], ARGV[2])
end
local key = hash and redis.call('HGET', KEYS[1], hash)
if not key then
  return {}
end
key = cjson.decode(key)
if ARGV[2] ~= '' and (not key.source or key.source.browser_key ~= ARGV[3]) then
  return {}
end
local tenant = redis.call('HGET', KEYS[2], key.tenant_id)
if key.revoked_at or not tenant or cjson.decode(tenant).deleting then
  return {}
end
if key.source then
  return { key.tenant_id, tenant, hash, key.prefix, cjson.encode(key.source) }
end
return { key.tenant_id, tenant, hash }
