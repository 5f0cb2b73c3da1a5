-- Confirms an e-mail address: the alerts that wait for it start now.
-- KEYS[1] tenants with alerts to evaluate, KEYS[2] alerts of the tenant, KEYS[3] its confirmed addresses, KEYS[4] the token
-- KEYS[5] kinds of subscriptions that addresses ended: `KIND ADDRESS`
-- ARGV[1] tenant id, ARGV[2] address, ARGV[3] now, ISO 8601, ARGV[4] '1': the token must exist, and
-- an alert must wait, unless the address is confirmed already
-- Returns the number of alerts that waited; nil when the token does not work.
local waiting = {}
local all = call('HGETALL', KEYS[2])
for i = 1, #all, 2 do
  local alert = cjson.decode(all[i + 1])
  if alert.unconfirmed == ARGV[2] then
    waiting[all[i]] = alert
  end
end
local isKnown = next(waiting) or call('SISMEMBER', KEYS[3], ARGV[2]) == 1
if ARGV[4] == '1' and not (isKnown and call('EXISTS', KEYS[4]) == 1) then
  return nil
end
local count = 0
for id, alert in pairs(waiting) do
  alert.unconfirmed = nil
  if alert.paused and alert.paused.by == 'unconfirmed' then
    alert.paused = nil
    alert.active_since = ARGV[3]
  end
  call('HSET', KEYS[2], id, cjson.encode(alert))
  -- Only what waits was named to the receiver.
  call('SREM', KEYS[5], alert.on .. ' ' .. ARGV[2])
  count = count + 1
end
call('SADD', KEYS[3], ARGV[2])
call('DEL', KEYS[4])
noteTenant(KEYS[1], KEYS[2], ARGV[1])
return count
