-- Adds a person to the list of a tenant, or finds one of it.
-- KEYS[1] tenants, KEYS[2] the tenant's people
-- ARGV[1] tenant id, ARGV[2] when the tenant was created, ARGV[3] person id, ARGV[4] the person's JSON
-- ARGV[5] 1 to take a known person with the same e-mail address, or with the same name if there is no address; ARGV[6] maximum of people
-- Returns the person's id; 0 when the tenant is gone, another one, or being deleted; -1 when the list is full; -2 when several have
-- the name.
local tenant = redis.call('HGET', KEYS[1], ARGV[1])
tenant = tenant and cjson.decode(tenant)
if not tenant or tenant.deleting or tenant.created_at ~= ARGV[2] then
  return 0
end
local person = cjson.decode(ARGV[4])
local all = redis.call('HGETALL', KEYS[2])
local found, count = nil, 0
for i = 1, #all, 2 do
  local known = cjson.decode(all[i + 1])
  local same = known.name == person.name
  if person.email then
    same = known.email == person.email
  end
  count = count + 1
  if ARGV[5] == '1' and same then
    if found then
      return -2
    end
    found = { id = all[i], person = known }
  end
end
if found then
  -- An address alone says nothing about the name.
  if person.name ~= person.email then
    found.person.name = person.name
  end
  redis.call('HSET', KEYS[2], found.id, cjson.encode(found.person))
  return found.id
end
if count >= tonumber(ARGV[6]) then
  return -1
end
redis.call('HSET', KEYS[2], ARGV[3], ARGV[4])
return ARGV[3]
