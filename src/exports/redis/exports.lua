-- Functions for the scripts of exports.
local call = redis.call

-- Keeps the set of tenants that have exports.
local function noteTenant(tenants, exports, tenantId)
  if call('HLEN', exports) > 0 then
    call('SADD', tenants, tenantId)
  else
    call('SREM', tenants, tenantId)
  end
end
