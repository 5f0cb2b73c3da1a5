-- Turns the lines of a digest into a message. Repeating it changes nothing.
-- KEYS[1] to KEYS[3] as in writeUnderLease-4.lua, KEYS[4] progress of the alert, KEYS[5] digest, KEYS[6] deliveries, KEYS[7] their times
-- KEYS[8] queue of the alert, KEYS[9] queues, KEYS[10] alerts of the tenant
-- ARGV[1] to ARGV[3] as in writeUnderLease-4.lua, ARGV[4] when it is due, ms, ARGV[5] number of its lines, ARGV[6] message id
-- ARGV[7] JSON of the message, ARGV[8] now, ms, ARGV[9] member of the set of queues
-- ARGV[10] messages of the alert in an hour; '' for no limit, ARGV[11] alert id
-- Returns 1; 0 when it was sent, has to wait for room, or the alert was removed or paused; -1 when the member does not hold the share.
if not holdsShare() then
  return -1
end
local json = call('HGET', KEYS[10], ARGV[11])
if not json or cjson.decode(json).paused then
  return 0
end
if tonumber(call('HGET', KEYS[4], 'digest') or 0) >= tonumber(ARGV[4]) then
  return 0
end
if ARGV[10] ~= '' and roomOf(KEYS[4], KEYS[8], ARGV[8], ARGV[10]) <= 0 then
  return 0
end
call('HSET', KEYS[4], 'digest', ARGV[4])
if tonumber(ARGV[5]) > 0 then
  call('LTRIM', KEYS[5], ARGV[5], -1)
  local to = { deliveries = KEYS[6], times = KEYS[7], queue = KEYS[8], queues = KEYS[9] }
  addDue(to, ARGV[9], ARGV[8], ARGV[6], ARGV[7])
end
return 1
