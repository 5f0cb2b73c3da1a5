-- Records the new occurrences of an alert, and adds each as a message or as a line of a digest, in one step.
-- Repeating it changes nothing.
-- KEYS[1] to KEYS[3] as in writeUnderLease-4.lua, KEYS[4] alerts of the tenant, KEYS[5] its recorded occurrences, KEYS[6] deliveries
-- KEYS[7] their times, KEYS[8] queue of the alert, KEYS[9] queues, KEYS[10] digest, KEYS[11] reported facts, KEYS[12] their times
-- KEYS[13] progress of the alert, which says when it fired last
-- ARGV[1] to ARGV[3] as in writeUnderLease-4.lua, ARGV[4] alert id, ARGV[5] its active_since, ARGV[6] now, ms
-- ARGV[7] member of the set of queues, ARGV[8] messages in an hour; 0: all go into the digest, ARGV[9] most recorded occurrences
-- ARGV[10] lines of a digest, ARGV[11] records from before are removed, ms; '' for none, ARGV[12] most reported companies
-- then for each occurrence: its key, message id, JSON of the message, JSON of the line, company ('' for a job), JSON of the reported facts
-- Returns the number of new ones; -1 when the member does not hold the share, -2 when the alert was removed, paused or resumed, -3 when it
-- remembers too many.
if not holdsShare() then
  return -1
end
local json = call('HGET', KEYS[4], ARGV[4])
local alert = json and cjson.decode(json)
if not alert or alert.paused or alert.active_since ~= ARGV[5] then
  return -2
end
if ARGV[11] ~= '' then
  call('ZREMRANGEBYSCORE', KEYS[5], '-inf', '(' .. ARGV[11])
end
local function isRecorded(key)
  -- The time is negative when a company has left its segment.
  return tonumber(call('ZSCORE', KEYS[5], key) or -1) > 0
end
local new = 0
for i = 13, #ARGV, 6 do
  if not isRecorded(ARGV[i]) then
    new = new + 1
  end
end
if new > 0 and call('ZCOUNT', KEYS[5], '(0', '+inf') + new > tonumber(ARGV[9]) then
  return -3
end
local to = { deliveries = KEYS[6], times = KEYS[7], queue = KEYS[8], queues = KEYS[9], digest = KEYS[10], progress = KEYS[13] }
for i = 13, #ARGV, 6 do
  if not isRecorded(ARGV[i]) then
    call('ZADD', KEYS[5], ARGV[6], ARGV[i])
    addOccurrence(to, ARGV[7], ARGV[6], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[8], ARGV[10])
    call('HSET', KEYS[13], 'fired', ARGV[6], 'fired_id', ARGV[i + 4], 'fired_name', cjson.decode(ARGV[i + 5]).name)
    if ARGV[i + 4] ~= '' then
      call('HSET', KEYS[11], ARGV[i + 4], ARGV[i + 5])
      call('ZADD', KEYS[12], ARGV[6], ARGV[i + 4])
    end
  end
end
local surplus = call('ZCARD', KEYS[12]) - tonumber(ARGV[12])
if surplus > 0 then
  for _, company in ipairs(call('ZRANGE', KEYS[12], 0, surplus - 1)) do
    call('HDEL', KEYS[11], company)
    call('ZREM', KEYS[12], company)
  end
end
return new
