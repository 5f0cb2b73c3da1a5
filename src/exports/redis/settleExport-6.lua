#!lua flags=allow-oom
-- Writes the state of an export after an attempt, and ends the attempt. Repeating it changes nothing.
-- KEYS[1] to KEYS[3] as in writeUnderLease-4.lua, KEYS[4] exports of the tenant, KEYS[5] state, KEYS[6] the attempt under way
-- ARGV[1] to ARGV[3] as in writeUnderLease-4.lua, ARGV[4] export id, ARGV[5] JSON of the state
-- Returns 1; 0 when the export was removed; -1 when the member does not hold the share.
if not holdsShare() then
  return -1
end
redis.call('DEL', KEYS[6])
if redis.call('HEXISTS', KEYS[4], ARGV[4]) == 0 then
  return 0
end
redis.call('SET', KEYS[5], ARGV[5])
return 1
