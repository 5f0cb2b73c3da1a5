-- Appends blocks of one commit to their partitions' streams, all of them or, when they are there already, none.
-- KEYS: for each block three: stream, producer, counters
-- ARGV[1] sequence number of the commit, ascending per producer
-- ARGV[2] milliseconds for which the producer is remembered
-- then for each block: number of events, field prefix of the counters, number of stream field arguments, those arguments; none: the
-- block was added right before, in the same transaction, and is taken back when it was there already
-- A producer is one of one stream, or of one call: blocks that name the producer of the block before them share its fate.
-- Returns the number of blocks added; those that the producer had added before are left out.
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

-- Whether each producer's commit is new.
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
