-- Appends the blocks of one commit to their streams. Leaves out blocks whose producer has appended this or a later commit, so it may
-- run twice.
-- KEYS[3i+1 to 3i+3] of block i: stream, producer, counters. Neighbours with one producer are appended together or not at all.
-- ARGV[1] sequence number of the commit, ascending per producer
-- ARGV[2] how long to remember the producers, ms
-- ARGV[3..] for each block: number of events; field prefix of the counters; number of stream field arguments; those arguments.
--   0 arguments: the block was added by the same transaction, right before this script. If it is a repeat, it is removed.
-- Returns the number of blocks appended.
local call = redis.call

local seq = tonumber(ARGV[1])
local isNew = {}

local at = 3
for k = 1, #KEYS, 3 do
  local size = tonumber(ARGV[at + 2])
  if size == 0 then
    addedBefore(KEYS[k])
  end
  at = at + 3 + size
end

-- Finds the producers whose commit is new.
local failure = tried(function()
  for k = 1, #KEYS, 3 do
    local producer = KEYS[k + 1]
    if isNew[producer] == nil then
      local last = call('GET', producer)
      isNew[producer] = not last or tonumber(last) < seq
    end
  end
end)
if failure then
  return failure
end
at = 3
local added = 0
for k = 1, #KEYS, 3 do
  local producer = KEYS[k + 1]
  local size = tonumber(ARGV[at + 2])
  if isNew[producer] then
    if producer ~= KEYS[k - 2] then
      call('SET', producer, ARGV[1], 'PX', ARGV[2])
    end
    if size > 0 then
      call('XADD', KEYS[k], '*', unpack(ARGV, at + 3, at + 2 + size))
    end
    call('HINCRBY', KEYS[k + 2], ARGV[at + 1] .. ':entries', 1)
    call('HINCRBY', KEYS[k + 2], ARGV[at + 1] .. ':events', ARGV[at])
    added = added + 1
  elseif size == 0 then
    takeBack(KEYS[k])
  end
  at = at + 3 + size
end
return added
