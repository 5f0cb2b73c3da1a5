-- Adds and removes rules of a tenant.
-- KEYS[1] tenants
-- ARGV[1] tenant id, ARGV[2] channel of changes, ARGV[3] maximum number of rules
-- ARGV[4] number of rules to add; then these rules, then the rules to remove
-- Returns the tenant's JSON after the change; nil when the tenant does not exist; 0 without a change when there are too many.
local tenant = redis.call('HGET', KEYS[1], ARGV[1])
if not tenant then
  return nil
end
tenant = cjson.decode(tenant)
local change = {}
for i = 5, #ARGV do
  change[ARGV[i]] = i < 5 + tonumber(ARGV[4]) and 'add' or 'remove'
end
local rules = {}
for _, rule in ipairs(tenant.rules or {}) do
  if change[rule] ~= 'remove' then
    rules[#rules + 1] = rule
  end
  change[rule] = nil
end
for i = 5, 4 + tonumber(ARGV[4]) do
  if change[ARGV[i]] == 'add' then
    rules[#rules + 1] = ARGV[i]
    change[ARGV[i]] = nil
  end
end
if #rules > tonumber(ARGV[3]) then
  return 0
end
-- An empty table would become an object.
tenant.rules = #rules > 0 and rules or nil
local json = cjson.encode(tenant)
redis.call('HSET', KEYS[1], ARGV[1], json)
redis.call('PUBLISH', ARGV[2], 'tenant')
return json
