-- Confirms an e-mail address: the alerts that wait for it start now.
-- KEYS[1] tenants with alerts to evaluate, KEYS[2] alerts of the tenant, KEYS[3] its confirmed addresses, KEYS[4] the token
-- KEYS[5] opt-outs: `KIND DIGEST`
-- ARGV[1] tenant id, ARGV[2] address, ARGV[3] now, ISO 8601, ARGV[4] digest of the address
-- ARGV[5] JSON of the ids of the alerts that may start: the token must exist, and one of them must wait, unless the address is confirmed
-- already; '': all may start, without a token
-- Returns the number of alerts that waited; nil when the token does not work.
local waiting = {}
local shown
if ARGV[5] ~= '' then
  shown = {}
  for _, id in ipairs(cjson.decode(ARGV[5])) do
    shown[id] = true
  end
end
local all = call('HGETALL', KEYS[2])
for i = 1, #all, 2 do
  local alert = cjson.decode(all[i + 1])
  if alert.unconfirmed == ARGV[2] and (not shown or shown[all[i]]) then
    waiting[all[i]] = alert
  end
end
local isKnown = next(waiting) or call('SISMEMBER', KEYS[3], ARGV[2]) == 1
if shown and not (isKnown and call('EXISTS', KEYS[4]) == 1) then
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
  call('SREM', KEYS[5], alert.on .. ' ' .. ARGV[4])
  count = count + 1
end
call('SADD', KEYS[3], ARGV[2])
call('DEL', KEYS[4])
noteTenant(KEYS[1], KEYS[2], ARGV[1])
return count
