-- Changes fields of a tenant.
-- KEYS[1] tenants
-- ARGV[1] tenant id, ARGV[2] JSON of the changed fields, ARGV[3] channel of changes
-- ARGV[4] key for masked addresses, used if the tenant needs one and has none
-- Returns the tenant's JSON after the change; nil when the tenant does not exist; 0 without a change when it would have both
-- an archive and masked addresses.
local tenant = redis.call('HGET', KEYS[1], ARGV[1])
if not tenant then
  return nil
end
tenant = cjson.decode(tenant)
for name, value in pairs(cjson.decode(ARGV[2])) do
  tenant[name] = value
end
if tenant.addresses and tenant.addresses ~= 'full' then
  if tenant.archive then
    return 0
  end
  tenant.address_key = tenant.address_key or ARGV[4]
end
local json = cjson.encode(tenant)
redis.call('HSET', KEYS[1], ARGV[1], json)
redis.call('PUBLISH', ARGV[3], 'tenant')
return json
