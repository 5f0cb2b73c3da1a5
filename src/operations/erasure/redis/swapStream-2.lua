-- Puts a copy of a stream in its place, when it has every entry. Redis keeps what was deleted from a stream in its memory and
-- its files until a whole node of entries is gone; a copy has only what is left.
-- KEYS[1] stream without consumer groups, KEYS[2] its copy
-- ARGV[1] how many entries may still be copied here
-- Returns 1, or 0 when the copy is not the stream: too much was added meanwhile, or something was deleted.
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
  -- Without entries it has no node; there may be no copy, either.
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
