-- Changes some of a tenant.
-- KEYS[1] tenants
-- ARGV[1] tenant id, ARGV[2] JSON of the members that change, ARGV[3] channel of changes
-- Returns the tenant's JSON after the change, or nil when there is none.
local tenant = redis.call('HGET', KEYS[1], ARGV[1])
if not tenant then
  return nil
end
tenant = cjson.decode(tenant)
for name, value in pairs(cjson.decode(ARGV[2])) do
  tenant[name] = value
end
local json = cjson.encode(tenant)
redis.call('HSET', KEYS[1], ARGV[1], json)
redis.call('PUBLISH', ARGV[3], 'tenant')
return json
