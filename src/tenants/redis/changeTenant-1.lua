-- Changes some of a tenant.
-- KEYS[1] tenants
-- ARGV[1] tenant id, ARGV[2] JSON of the members that change, ARGV[3] channel of changes
-- ARGV[4] key for its addresses, taken when they are not kept in full and there is none yet
-- Returns the tenant's JSON after the change, or nil when there is none; 0 and changes nothing when it would have an archive
-- and addresses that are not kept in full.
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
