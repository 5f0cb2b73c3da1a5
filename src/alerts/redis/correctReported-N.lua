-- Replaces what was reported of a company, and adds the messages that correct it, in one step. Repeating it changes nothing.
-- KEYS[1] to KEYS[3] as in writeUnderLease-4.lua, KEYS[4] reported facts, KEYS[5] alerts of the tenant, KEYS[6] deliveries
-- KEYS[7] their times, KEYS[8] queues; then for each alert: its queue, its digest, its progress, which says when it fired last
-- ARGV[1] to ARGV[3] as in writeUnderLease-4.lua, ARGV[4] company, ARGV[5] JSON of the facts before, ARGV[6] JSON of the facts now
-- ARGV[7] now, ms, ARGV[8] lines of a digest, ARGV[9] most waiting messages of an alert
-- ARGV[10] JSON of the ids of the alerts on corrections that the caller knows
-- then for each alert: its id, member of the set of queues, message id, JSON of the message or line, 1 for a digest, else 0
-- Returns 1; 0 when the facts before have changed, or the caller does not know an active alert on corrections, which would miss this one;
-- -1 when the member does not hold the share; the id of an alert with too many messages.
if not holdsShare() then
  return -1
end
local call = redis.call
if call('HGET', KEYS[4], ARGV[4]) ~= ARGV[5] then
  return 0
end
local known = {}
for _, id in ipairs(cjson.decode(ARGV[10])) do
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
local function keyOf(i)
  return 9 + (i - 11) / 5 * 3
end
for i = 11, #ARGV, 5 do
  if ARGV[i + 4] == '0' and call('ZCARD', KEYS[keyOf(i)]) >= tonumber(ARGV[9]) and isActive(ARGV[i]) then
    return ARGV[i]
  end
end
call('HSET', KEYS[4], ARGV[4], ARGV[6])
for i = 11, #ARGV, 5 do
  local at = keyOf(i)
  if isActive(ARGV[i]) then
    call('HSET', KEYS[at + 2], 'fired', ARGV[7], 'fired_id', ARGV[4], 'fired_name', cjson.decode(ARGV[6]).name)
    if ARGV[i + 4] == '0' then
      call('HSET', KEYS[6], ARGV[i + 2], ARGV[i + 3])
      call('ZADD', KEYS[7], ARGV[7], ARGV[i + 2])
      call('ZADD', KEYS[at], ARGV[7], ARGV[i + 2])
      call('SADD', KEYS[8], ARGV[i + 1])
    else
      call('RPUSH', KEYS[at + 1], call('LLEN', KEYS[at + 1]) < tonumber(ARGV[8]) and ARGV[i + 3] or '')
    end
  end
end
return 1
