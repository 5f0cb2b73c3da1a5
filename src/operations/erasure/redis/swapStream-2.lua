-- Replaces a stream by its copy, if the copy has every entry. Redis keeps deleted entries in memory and files until a whole node
-- of entries is gone; a copy has only the remaining ones.
-- KEYS[1] stream without consumer groups, KEYS[2] its copy
-- ARGV[1] maximum number of entries to copy here
-- Returns 1, or 0 when the copy differs: too many entries were added meanwhile, or one was deleted.
local function infoOf(key)
  local info = redis.call('XINFO', 'STREAM', key)
  local found = {}
  for i = 1, #info, 2 do
    found[info[i]] = info[i + 1]
  end
  return found
end

if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('DEL', KEYS[2])
  return 1
end
local from = '-'
if redis.call('EXISTS', KEYS[2]) == 1 then
  from = '(' .. infoOf(KEYS[2])['last-generated-id']
end
for _, entry in ipairs(redis.call('XRANGE', KEYS[1], from, '+', 'COUNT', ARGV[1])) do
  redis.call('XADD', KEYS[2], entry[1], unpack(entry[2]))
end
local stream = infoOf(KEYS[1])
if stream['length'] == 0 then
  -- An empty stream has no node, and perhaps no copy.
  redis.call('DEL', KEYS[2])
  return 1
end
if redis.call('XLEN', KEYS[2]) ~= stream['length'] then
  return 0
end
redis.call('XSETID', KEYS[2], stream['last-generated-id'], 'ENTRIESADDED', stream['entries-added'],
  'MAXDELETEDID', stream['max-deleted-entry-id'])
redis.call('RENAME', KEYS[2], KEYS[1])
return 1
