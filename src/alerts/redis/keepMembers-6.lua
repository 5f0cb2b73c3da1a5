-- Changes the recorded companies of an alert's segment.
-- KEYS[1] to KEYS[3] as in writeUnderLease-4.lua, KEYS[4] alerts of the tenant, KEYS[5] its recorded occurrences, KEYS[6] its progress
-- ARGV[1] to ARGV[3] as in writeUnderLease-4.lua, ARGV[4] alert id, ARGV[5] its active_since, ARGV[6] now, ms
-- ARGV[7] 'begin' (none is a member), 'add', 'remove', or 'end' (all members are added), ARGV[8] most companies that have left
-- then for 'add' and 'remove' companies, at most 1,000; for 'end' the moment of which they were members, and the filter of the segment
-- A company that has left keeps its record, with the negative time: its state at the start of the alert matters no more.
-- Returns 1; -1 when the member does not hold the share, -2 when the alert was removed, paused or resumed.
if not holdsShare() then
  return -1
end
local call = redis.call
local json = call('HGET', KEYS[4], ARGV[4])
local alert = json and cjson.decode(json)
if not alert or alert.paused or alert.active_since ~= ARGV[5] then
  return -2
end
if ARGV[7] == 'begin' then
  call('DEL', KEYS[5])
elseif ARGV[7] == 'end' then
  call('HSET', KEYS[6], 'baseline', ARGV[9], 'filter', ARGV[10])
  return 1
end
for i = 9, #ARGV do
  if ARGV[7] == 'add' then
    call('ZADD', KEYS[5], 'NX', ARGV[6], ARGV[i])
  elseif tonumber(call('ZSCORE', KEYS[5], ARGV[i]) or 0) > 0 then
    call('ZADD', KEYS[5], -ARGV[6], ARGV[i])
  end
end
local surplus = call('ZCOUNT', KEYS[5], '-inf', '(0') - tonumber(ARGV[8])
if surplus > 0 then
  -- Those that left first are nearest to 0.
  local oldest = call('ZRANGE', KEYS[5], '(0', '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, math.min(surplus, 1000))
  call('ZREM', KEYS[5], unpack(oldest))
end
return 1
