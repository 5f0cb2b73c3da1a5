-- Ties a person of a tenant to an account at a provider of OpenID Connect.
-- KEYS[1] the tenant's people
-- ARGV[1] person id, ARGV[2] when the tenant was created, ARGV[3] the person's e-mail address, ARGV[4] issuer, ARGV[5] subject
-- Returns 1; 0 when the person is unknown, has another address or another account of the issuer, or when another person has the account.
local all = redis.call('HGETALL', KEYS[1])
local person
for i = 1, #all, 2 do
  local known = cjson.decode(all[i + 1])
  if known.tenant_created_at == ARGV[2] then
    if all[i] == ARGV[1] then
      person = known
    elseif known.oidc_issuer == ARGV[4] and known.oidc_subject == ARGV[5] then
      return 0
    end
  end
end
if not person or person.email ~= ARGV[3] or (person.oidc_issuer == ARGV[4] and person.oidc_subject ~= ARGV[5]) then
  return 0
end
person.oidc_issuer, person.oidc_subject = ARGV[4], ARGV[5]
redis.call('HSET', KEYS[1], ARGV[1], cjson.encode(person))
return 1
