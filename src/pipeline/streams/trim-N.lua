#!lua flags=allow-oom
-- Removes entries that every consumer group of their stream has acknowledged.
-- Runs above maxmemory, because it frees memory.
-- KEYS streams of one partition
-- ARGV for each stream: number of declared groups, their names. While one of them does not exist, the stream is not trimmed.
-- Returns the number of entries removed.
local function parse(id)
  local ms, seq = string.match(id, '^(%d+)-(%d+)$')
  return tonumber(ms), tonumber(seq)
end
local function before(a, b)
  local ams, aseq = parse(a)
  local bms, bseq = parse(b)
  return ams < bms or (ams == bms and aseq < bseq)
end

-- Returns the id of the oldest entry that a group still needs; nil if a declared group does not exist.
local function oldestNeeded(stream, needed, missing)
  local oldest = nil
  for _, info in ipairs(redis.call('XINFO', 'GROUPS', stream)) do
    local group = {}
    for i = 1, #info, 2 do
      group[info[i]] = info[i + 1]
    end
    if needed[group['name']] then
      missing = missing - 1
    end
    local keep
    if group['pending'] > 0 then
      keep = redis.call('XPENDING', stream, group['name'])[2]
    else
      local ms, seq = parse(group['last-delivered-id'])
      keep = string.format('%.0f-%.0f', ms, seq + 1)
    end
    if not oldest or before(keep, oldest) then
      oldest = keep
    end
  end
  return missing == 0 and oldest or nil
end

local removed = 0
local at = 1
for _, stream in ipairs(KEYS) do
  local groups = tonumber(ARGV[at])
  if redis.call('XLEN', stream) > 0 then
    local needed = {}
    for i = at + 1, at + groups do
      needed[ARGV[i]] = true
    end
    local oldest = oldestNeeded(stream, needed, groups)
    if oldest then
      removed = removed + redis.call('XTRIM', stream, 'MINID', '=', oldest)
    end
  end
  at = at + 1 + groups
end
return removed
