#!lua flags=no-writes
-- Finds an event in a page of a stream of blocks, the newest entries first.
-- KEYS[1] stream
-- ARGV[1] identity, ARGV[2] upper end of the page: '+', or '(' and an entry, ARGV[3] entries of the page
-- ARGV[4..] groups that read the stream: skip entries that all of them have finished; none: skip nothing
-- Returns the last entry of the page ('' when the stream holds no more), the number of entries, their bytes, and for each
-- found event: its entry, row, job and reason.
-- Four values for each of at most 20 events.
local FOUND_MAX = 80
local identity = ARGV[1]
local count = tonumber(ARGV[3])
local page = redis.call('XREVRANGE', KEYS[1], ARGV[2], '-', 'COUNT', count)

local function isAfter(id, other)
  local ms, sequence = string.match(id, '^(%d+)-(%d+)$')
  local otherMs, otherSequence = string.match(other, '^(%d+)-(%d+)$')
  ms, otherMs = tonumber(ms), tonumber(otherMs)
  return ms > otherMs or (ms == otherMs and tonumber(sequence) > tonumber(otherSequence))
end

local delivered
local function isOpen(id)
  if #ARGV < 4 then
    return true
  end
  if not delivered then
    delivered = {}
    for _, group in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
      local facts = {}
      for i = 1, #group, 2 do
        facts[group[i]] = group[i + 1]
      end
      delivered[facts['name']] = facts['last-delivered-id']
    end
  end
  for i = 4, #ARGV do
    local last = delivered[ARGV[i]]
    if not last or isAfter(id, last) or #redis.call('XPENDING', KEYS[1], ARGV[i], id, id, 1) > 0 then
      return true
    end
  end
  return false
end

local function rowAt(rows, position)
  local from = 1
  for _ = 1, position do
    from = (string.find(rows, '\n', from, true) or #rows) + 1
  end
  return string.sub(rows, from, (string.find(rows, '\n', from, true) or #rows + 1) - 1)
end

local bytes = 0
local found = {}
for _, entry in ipairs(page) do
  local fields = {}
  for i = 1, #entry[2], 2 do
    fields[entry[2][i]] = entry[2][i + 1]
  end
  local identities, rows = fields['i'] or '', fields['r'] or ''
  bytes = bytes + #rows + #identities
  local from = string.find(identities, identity, 1, true)
  while from and #found < FOUND_MAX do
    if (from - 1) % 16 == 0 and isOpen(entry[1]) then
      found[#found + 1] = entry[1]
      found[#found + 1] = rowAt(rows, (from - 1) / 16)
      found[#found + 1] = fields['j'] or ''
      found[#found + 1] = fields['reason'] or ''
    end
    from = string.find(identities, identity, from + 1, true)
  end
end
local last = ''
if #page == count then
  last = page[#page][1]
end
return { last, #page, bytes, unpack(found) }
