-- Replaces the report about a company, and adds the messages that correct it, in one step. Repeating it changes nothing.
-- KEYS[1] to KEYS[3] as in writeUnderLease-4.lua, KEYS[4] reported facts, KEYS[5] alerts of the tenant, KEYS[6] deliveries
-- KEYS[7] their times, KEYS[8] queues; then for each alert: its queue, its digest, its progress, which says when it fired last
-- ARGV[1] to ARGV[3] as in writeUnderLease-4.lua, ARGV[4] company, ARGV[5] JSON of the facts before, ARGV[6] JSON of the facts now
-- ARGV[7] now, ms, ARGV[8] lines of a digest
-- ARGV[9] JSON of the ids of the alerts on corrections that the caller knows
-- then for each alert: its id, member of the set of queues, message id, JSON of the message, JSON of the line, messages in an
-- hour; 0: all go into the digest
-- Returns 1; 0 when the facts before have changed, or the caller does not know an active alert on corrections, which would miss this one;
-- -1 when the member does not hold the share.
if not holdsShare() then
  return -1
end
if call('HGET', KEYS[4], ARGV[4]) ~= ARGV[5] then
  return 0
end
local known = {}
for _, id in ipairs(cjson.decode(ARGV[9])) do
  known[id] = true
end
local alerts = call('HGETALL', KEYS[5])
for i = 1, #alerts, 2 do
  local alert = cjson.decode(alerts[i + 1])
  if alert.on == 'company.corrected' and not alert.paused and not known[alerts[i]] then
    return 0
  end
end
local function isActive(id)
  local json = call('HGET', KEYS[5], id)
  return json and not cjson.decode(json).paused
end
call('HSET', KEYS[4], ARGV[4], ARGV[6])
for i = 10, #ARGV, 6 do
  local at = 9 + (i - 10) / 6 * 3
  if isActive(ARGV[i]) then
    call('HSET', KEYS[at + 2], 'fired', ARGV[7], 'fired_id', ARGV[4], 'fired_name', cjson.decode(ARGV[6]).name)
    local to = { deliveries = KEYS[6], times = KEYS[7], queues = KEYS[8] }
    to.queue, to.digest, to.progress = KEYS[at], KEYS[at + 1], KEYS[at + 2]
    addOccurrence(to, ARGV[i + 1], ARGV[7], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4], ARGV[i + 5], ARGV[8])
  end
end
return 1
