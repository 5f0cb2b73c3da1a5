-- Removes an alert and its state. Its messages are kept as long as others, but are not sent.
-- KEYS[1] tenants with alerts to evaluate, KEYS[2] alerts of the tenant, KEYS[3] progress, KEYS[4] recorded occurrences, KEYS[5] digest
-- KEYS[6] to KEYS[8] queues of its messages, KEYS[9] times of the tenant's finished messages, KEYS[10] queues
-- ARGV[1] tenant id, ARGV[2] alert id, ARGV[3] now, ms, ARGV[4] to ARGV[6] members of the set of queues
-- Returns 1, or 0 when there is no such alert.
local removed = call('HDEL', KEYS[2], ARGV[2])
for i = 6, 8 do
  for _, id in ipairs(call('ZRANGE', KEYS[i], 0, -1)) do
    call('ZADD', KEYS[9], ARGV[3], id)
  end
end
call('SREM', KEYS[10], unpack(ARGV, 4))
call('DEL', KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8])
noteTenant(KEYS[1], KEYS[2], ARGV[1])
return removed
