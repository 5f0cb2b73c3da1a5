-- Removes idle consumers without pending entries.
-- KEYS[1] stream
-- ARGV[1] group, ARGV[2] minimum idle time, ms
-- Returns the number of consumers removed.
local removed = 0
for _, info in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])) do
  local consumer = {}
  for i = 1, #info, 2 do
    consumer[info[i]] = info[i + 1]
  end
  if consumer['pending'] == 0 and consumer['idle'] > tonumber(ARGV[2]) then
    redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], consumer['name'])
    removed = removed + 1
  end
end
return removed
