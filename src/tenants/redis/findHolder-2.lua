-- Finds the holder of an active key.
-- KEYS[1] keys, KEYS[2] tenants
-- ARGV[1] SHA-256 of the key
-- Returns the tenant's id and JSON, and for a source key also its prefix and the JSON of the source; an empty array when the
-- key is unknown or revoked, or the tenant is being deleted.
local key = redis.call('HGET', KEYS[1], ARGV[1])
if not key then
  return {}
end
key = cjson.decode(key)
local tenant = redis.call('HGET', KEYS[2], key.tenant_id)
if key.revoked_at or not tenant or cjson.decode(tenant).deleting then
  return {}
end
if key.source then
  return { key.tenant_id, tenant, key.prefix, cjson.encode(key.source) }
end
return { key.tenant_id, tenant }
