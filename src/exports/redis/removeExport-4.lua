-- Removes an export and its state. Its files stay.
-- KEYS[1] tenants with exports, KEYS[2] exports of the tenant, KEYS[3] state, KEYS[4] request
-- ARGV[1] tenant id, ARGV[2] export id
-- Returns 1, or 0 when there is no such export.
local removed = call('HDEL', KEYS[2], ARGV[2])
call('DEL', KEYS[3], KEYS[4])
noteTenant(KEYS[1], KEYS[2], ARGV[1])
return removed
