-- Gives a person of a tenant another role.
-- KEYS[1] the tenant's people
-- ARGV[1] person id, ARGV[2] when the tenant was created, ARGV[3] role
-- Returns 1, or 0 when the person is unknown.
local json = redis.call('HGET', KEYS[1], ARGV[1])
local person = json and cjson.decode(json)
if not person or person.tenant_created_at ~= ARGV[2] then
  return 0
end
person.role = ARGV[3]
redis.call('HSET', KEYS[1], ARGV[1], cjson.encode(person))
return 1
