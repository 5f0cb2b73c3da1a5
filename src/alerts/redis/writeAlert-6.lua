-- Creates or changes an alert. With a new one, adds a message in the same step.
-- KEYS[1] tenants with alerts to evaluate, KEYS[2] alerts of the tenant
-- KEYS[3] deliveries of the tenant, KEYS[4] their times, KEYS[5] queue of the alert, KEYS[6] queues
-- ARGV[1] tenant id, ARGV[2] alert id
-- ARGV[3] JSON: of a new alert, or of the fields that change; a field that is null is removed
-- ARGV[4] most alerts of a tenant, or most subscriptions of its kind; '' for a change
-- for a new alert with a message: ARGV[5] message id, ARGV[6] its JSON, ARGV[7] now, ms, ARGV[8] member of the set of queues
-- Returns the JSON of the alert; 0 when its name is taken, or its address is subscribed to the same already, 1 when the tenant has too many,
-- 2 when a change would end the pause of an alert that waits for its address, nil when there is no such alert.
local function kindOf(record)
  return (record.on == 'digest' or record.on == 'export') and record.on or 'alert'
end
local change = cjson.decode(ARGV[3])
local isNew = ARGV[4] ~= ''
local json = call('HGET', KEYS[2], ARGV[2])
if not isNew and not json then
  return nil
end
-- The answer to an earlier run of this script may have been lost.
if isNew and json then
  return json
end
local all = call('HGETALL', KEYS[2])
local count = 0
for i = 1, #all, 2 do
  local other = cjson.decode(all[i + 1])
  local kind = kindOf(other)
  if all[i] ~= ARGV[2] and kind == kindOf(change) then
    -- The name of a subscription is for people: it may be cut.
    local isSame = kind ~= 'alert' and other.target == change.target and other.segment_id == change.segment_id
      and (kind ~= 'export' or (other.export.id == change.export.id and other.once == change.once))
    if isSame or (kind == 'alert' and other.name == change.name) then
      return 0
    end
    count = count + 1
  end
end
if isNew and count >= tonumber(ARGV[4]) then
  return 1
end
local alert = json and cjson.decode(json) or {}
for name, value in pairs(change) do
  if value == cjson.null then
    alert[name] = nil
  else
    alert[name] = value
  end
end
if not isNew and change.paused == cjson.null and alert.unconfirmed then
  return 2
end
local changed = isNew and ARGV[3] or cjson.encode(alert)
call('HSET', KEYS[2], ARGV[2], changed)
noteTenant(KEYS[1], KEYS[2], ARGV[1])
if ARGV[5] then
  local to = { deliveries = KEYS[3], times = KEYS[4], queue = KEYS[5], queues = KEYS[6] }
  addDue(to, ARGV[8], ARGV[7], ARGV[5], ARGV[6])
end
return changed
