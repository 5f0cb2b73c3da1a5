-- Tells how far the consumer groups of a stream are, by the ids of entries alone: an entry itself may be large.
-- KEYS[1] stream
-- Returns for each group four: its name, the number of entries pending, the id of the oldest pending one, the id of the
-- oldest that was not delivered; '' when there is none. Empty when there is no stream.
if redis.call('EXISTS', KEYS[1]) == 0 then
  return {}
end
local found = {}
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
