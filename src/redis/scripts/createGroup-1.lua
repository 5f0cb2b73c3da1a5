-- Creates a consumer group that reads all that the stream holds. Groups of another form of the pipeline are removed when
-- they have nothing left to do; the new group then starts where they ended.
-- KEYS[1] stream
-- ARGV[1] group, ARGV[2..] all groups that the pipeline declares for this stream
-- Returns 1 when the group is there; otherwise the name of an undeclared group that has entries left.
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('XGROUP', 'CREATE', KEYS[1], ARGV[1], '0', 'MKSTREAM')
  return 1
end
local declared = {}
for i = 2, #ARGV do
  declared[ARGV[i]] = true
end
local start = '0'
local removed = {}
for _, info in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
  local group = {}
  for i = 1, #info, 2 do
    group[info[i]] = info[i + 1]
  end
  if group['name'] == ARGV[1] then
    return 1
  end
  if not declared[group['name']] then
    local last = group['last-delivered-id']
    if group['pending'] > 0 or #redis.call('XRANGE', KEYS[1], '(' .. last, '+', 'COUNT', 1) > 0 then
      return group['name']
    end
    start = last
    removed[#removed + 1] = group['name']
  end
end
for _, name in ipairs(removed) do
  redis.call('XGROUP', 'DESTROY', KEYS[1], name)
end
redis.call('XGROUP', 'CREATE', KEYS[1], ARGV[1], start)
return 1
