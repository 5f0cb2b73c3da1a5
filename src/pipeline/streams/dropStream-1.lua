#!lua flags=allow-oom
-- Deletes a stream that the pipeline no longer declares, if its groups have finished all entries.
-- Runs above maxmemory, because it helps to drain Redis. Intake stops well below.
-- KEYS[1] stream
-- Returns 1 when the stream does not exist any more; otherwise the name of a group that has entries left.
if redis.call('EXISTS', KEYS[1]) == 0 then
  return 1
end
for _, info in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
  local group = {}
  for i = 1, #info, 2 do
    group[info[i]] = info[i + 1]
  end
  local rest = redis.call('XRANGE', KEYS[1], '(' .. group['last-delivered-id'], '+', 'COUNT', 1)
  if group['pending'] > 0 or #rest > 0 then
    return group['name']
  end
end
redis.call('DEL', KEYS[1])
return 1
