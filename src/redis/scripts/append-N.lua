-- Appends blocks of one commit to their partitions' streams, all of them or, when they are there already, none.
-- KEYS: for each block three: stream, producer, counters
-- ARGV[1] sequence number of the commit, ascending per producer
-- ARGV[2] milliseconds for which the producer is remembered
-- then for each block: number of events, field prefix of the counters, number of stream field arguments, those arguments; none: the
-- block was added right before, in the same transaction, and is taken back when it was there already
-- A producer is one of one stream, or of one call: blocks that name the producer of the block before them share its fate.
-- Returns the number of blocks added; those that the producer had added before are left out.
local call = redis.call

local function takeBack(stream)
  call('XDEL', stream, call('XREVRANGE', stream, '+', '-', 'COUNT', 1)[1][1])
end

local seq = tonumber(ARGV[1])
local before = {}
local isNew = {}

-- Whether each producer's commit is new. Fails before anything is written.
local function judge()
  local at = 3
  local refused
  for k = 1, #KEYS, 3 do
    local size = tonumber(ARGV[at + 2])
    if size == 0 then
      if call('TYPE', KEYS[k]).ok == 'stream' then
        before[#before + 1] = KEYS[k]
      else
        refused = KEYS[k]
      end
    end
    at = at + 3 + size
  end
  if refused then
    error('WRONGTYPE ' .. refused .. ' is no stream', 0)
  end
  for k = 1, #KEYS, 3 do
    local producer = KEYS[k + 1]
    if isNew[producer] == nil then
      local last = call('GET', producer)
      isNew[producer] = not last or tonumber(last) < seq
    end
  end
end

local succeeded, failure = pcall(judge)
if not succeeded then
  for _, stream in ipairs(before) do
    takeBack(stream)
  end
  return type(failure) == 'string' and redis.error_reply(failure) or failure
end
local at = 3
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
