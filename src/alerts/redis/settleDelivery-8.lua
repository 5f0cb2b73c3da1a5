#!lua flags=allow-oom
-- Writes the outcome of an attempt.
-- KEYS[1] deliveries of the tenant, KEYS[2] their times, KEYS[3] finished messages, KEYS[4] the queue of the alert, KEYS[5] queues
-- KEYS[6] alerts of the tenant, KEYS[7] tenants with alerts to evaluate, KEYS[8] progress of the alert, which has its last attempt
-- ARGV[1] id, ARGV[2] revision before the attempt, ARGV[3] JSON, ARGV[4] when it is due again, ms; '' when it is finished
-- ARGV[5] now, ms, ARGV[6] member of the set of queues, ARGV[7] tenant id, ARGV[8] alert id
-- ARGV[9] JSON of why to pause the alert; '' to leave it active
-- ARGV[10] most finished messages, ARGV[11] messages that finished before this time are removed, ms, ARGV[12] JSON of the attempt
-- ARGV[13] until when the alert sends no message, ms; '' for no wait
-- ARGV[14] 1 when a message of the evaluation was delivered, which counts in its hour; else 0
-- Returns 1, or 0 without writing the outcome when the message has another revision or is gone.
local json = call('HGET', KEYS[1], ARGV[1])
if not json then
  leaveQueue(KEYS[4], KEYS[5], ARGV[1], ARGV[6])
  return 0
end
-- A later revision may be in the same queue.
if cjson.decode(json).rev ~= tonumber(ARGV[2]) then
  return 0
end
call('HSET', KEYS[1], ARGV[1], ARGV[3])
local isKnown = call('HEXISTS', KEYS[6], ARGV[8]) == 1
if isKnown then
  call('HSET', KEYS[8], 'attempt', ARGV[12])
  -- Attempts overlap: the longest wait holds.
  if ARGV[13] ~= '' and tonumber(ARGV[13]) > tonumber(call('HGET', KEYS[8], 'held') or 0) then
    call('HSET', KEYS[8], 'held', ARGV[13])
  end
  if ARGV[14] == '1' then
    countDelivered(KEYS[8], ARGV[5])
  end
end
if ARGV[4] ~= '' and isKnown then
  call('ZADD', KEYS[4], ARGV[4], ARGV[1])
else
  leaveQueue(KEYS[4], KEYS[5], ARGV[1], ARGV[6])
  call('ZADD', KEYS[3], ARGV[5], ARGV[1])
end
if ARGV[9] ~= '' and isKnown then
  local alert = cjson.decode(call('HGET', KEYS[6], ARGV[8]))
  if not alert.paused then
    alert.paused = cjson.decode(ARGV[9])
    call('HSET', KEYS[6], ARGV[8], cjson.encode(alert))
    noteTenant(KEYS[7], KEYS[6], ARGV[7])
  end
end
trimDeliveries(KEYS[1], KEYS[2], KEYS[3], tonumber(ARGV[10]), ARGV[11])
return 1
