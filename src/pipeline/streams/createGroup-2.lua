#!lua flags=allow-oom
-- Creates a consumer group at the start of the stream, and sets its counters: entries that were trimmed before count as done.
-- First removes groups that the pipeline no longer declares, if they have finished. The new group then starts where they ended.
-- Runs above maxmemory, because it helps to drain Redis. Intake stops well below.
-- KEYS[1] stream, KEYS[2] counters of the partition
-- ARGV[1] group, ARGV[2] field prefix of the counters of additions, ARGV[3] field prefix of the group's finished entries
-- ARGV[4..] all groups that the pipeline declares for this stream
-- Returns 1 when the group exists; otherwise the name of an undeclared group that has entries left.
local declared = {}
for i = 4, #ARGV do
  declared[ARGV[i]] = true
end
local start = '0'
local exists = false
local removed = {}
if redis.call('EXISTS', KEYS[1]) == 1 then
  for _, info in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
    local group = {}
    for i = 1, #info, 2 do
      group[info[i]] = info[i + 1]
    end
    if group['name'] == ARGV[1] then
      exists = true
    elseif not declared[group['name']] then
      local last = group['last-delivered-id']
      if group['pending'] > 0 or #redis.call('XRANGE', KEYS[1], '(' .. last, '+', 'COUNT', 1) > 0 then
        return group['name']
      end
      start = last
      removed[#removed + 1] = group['name']
    end
  end
end
for _, name in ipairs(removed) do
  redis.call('XGROUP', 'DESTROY', KEYS[1], name)
end
if exists then
  return 1
end
redis.call('XGROUP', 'CREATE', KEYS[1], ARGV[1], start, 'MKSTREAM')

-- Reads few entries at a time, because blocks are large.
local entries, events = 0, 0
local from = '(' .. start
while true do
  local page = redis.call('XRANGE', KEYS[1], from, '+', 'COUNT', 16)
  if #page == 0 then
    break
  end
  for _, entry in ipairs(page) do
    entries = entries + 1
    for i = 1, #entry[2], 2 do
      if entry[2][i] == 'n' then
        events = events + (tonumber(entry[2][i + 1]) or 0)
      end
    end
  end
  from = '(' .. page[#page][1]
end
local function baseline(unit, waiting)
  local added = tonumber(redis.call('HGET', KEYS[2], ARGV[2] .. ':' .. unit) or '0')
  redis.call('HSET', KEYS[2], ARGV[3] .. ':' .. unit, string.format('%.0f', added - waiting))
end
baseline('entries', entries)
baseline('events', events)
return 1
