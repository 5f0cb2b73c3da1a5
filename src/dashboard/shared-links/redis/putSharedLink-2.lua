-- Adds a shared link of a tenant, and removes those that have expired.
-- KEYS[1] tenants, KEYS[2] shared links of the tenant: digest → JSON
-- ARGV[1] tenant id, ARGV[2] when the tenant was created, ARGV[3] digest, ARGV[4] JSON of the link
-- ARGV[5] most links of a tenant, ARGV[6] now, ISO 8601
-- Returns 1; 0 when the tenant is gone, another one, or being deleted; -1 when it has too many links.
local call = redis.call
local tenant = call('HGET', KEYS[1], ARGV[1])
tenant = tenant and cjson.decode(tenant)
if not tenant or tenant.deleting or tenant.created_at ~= ARGV[2] then
  return 0
end
local all = call('HGETALL', KEYS[2])
local count = 0
for i = 1, #all, 2 do
  local link = cjson.decode(all[i + 1])
  if link.tenant_created_at ~= ARGV[2] or (type(link.expires_at) == 'string' and link.expires_at <= ARGV[6]) then
    call('HDEL', KEYS[2], all[i])
  else
    count = count + 1
  end
end
if count >= tonumber(ARGV[5]) then
  return -1
end
call('HSET', KEYS[2], ARGV[3], ARGV[4])
return 1
