-- Reads the progress of the consumer groups of a stream. Returns ids only, because entries may be large.
-- KEYS[1] stream
-- Returns the time of this server, Unix milliseconds, because ids of entries are of its clock; then for each group: its name, the number of pending entries, the id of the oldest pending entry, the id of the oldest entry not
--   delivered yet ('' if none). Empty if the stream does not exist.
if redis.call('EXISTS', KEYS[1]) == 0 then
  return {}
end
local time = redis.call('TIME')
local found = { time[1] * 1000 + math.floor(time[2] / 1000) }
for _, info in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
  local group = {}
  for i = 1, #info, 2 do
    group[info[i]] = info[i + 1]
  end
  local pending = ''
  if group['pending'] > 0 then
    pending = redis.call('XPENDING', KEYS[1], group['name'])[2]
  end
  local new = redis.call('XRANGE', KEYS[1], '(' .. group['last-delivered-id'], '+', 'COUNT', 1)
  found[#found + 1] = group['name']
  found[#found + 1] = group['pending']
  found[#found + 1] = pending
  found[#found + 1] = new[1] and new[1][1] or ''
end
return found
