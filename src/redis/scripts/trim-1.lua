#!lua flags=allow-oom
-- Removes the entries that every consumer group has acknowledged.
-- Runs above maxmemory too: it is what drains Redis, and intake has stopped well below.
-- KEYS[1] stream
-- ARGV[1..] the groups that must have finished; when one of them does not exist, nothing is removed
-- Returns the number of entries removed.
if redis.call('EXISTS', KEYS[1]) == 0 then
  return 0
end
local needed = {}
local missing = #ARGV
for i = 1, #ARGV do
  needed[ARGV[i]] = true
end

local function parse(id)
  local ms, seq = string.match(id, '^(%d+)-(%d+)$')
  return tonumber(ms), tonumber(seq)
end
local function before(a, b)
  local ams, aseq = parse(a)
  local bms, bseq = parse(b)
  return ams < bms or (ams == bms and aseq < bseq)
end

local oldest = nil
for _, info in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
  local group = {}
  for i = 1, #info, 2 do
    group[info[i]] = info[i + 1]
  end
  if needed[group['name']] then
    missing = missing - 1
  end
  local keep
  if group['pending'] > 0 then
    keep = redis.call('XPENDING', KEYS[1], group['name'])[2]
  else
    local ms, seq = parse(group['last-delivered-id'])
    keep = string.format('%.0f-%.0f', ms, seq + 1)
  end
  if not oldest or before(keep, oldest) then
    oldest = keep
  end
end
if missing > 0 or not oldest then
  return 0
end
return redis.call('XTRIM', KEYS[1], 'MINID', '=', oldest)
