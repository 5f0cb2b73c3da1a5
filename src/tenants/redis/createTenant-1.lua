-- Creates a tenant.
-- KEYS[1] tenants
-- ARGV[1] tenant id, ARGV[2] its JSON, ARGV[3] channel of changes
-- Returns 1, or 0 when the id is taken.
if redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2]) == 0 then
  return 0
end
redis.call('PUBLISH', ARGV[3], 'tenant')
return 1
