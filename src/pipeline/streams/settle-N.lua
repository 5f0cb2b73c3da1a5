#!lua flags=allow-oom
-- Settles entries: acknowledges them and writes what became of them, as one. A second consumer that finished the same
-- entries adds nothing.
-- Runs above maxmemory too: it is what drains Redis, and intake has stopped well below.
-- A delivery that drops events must not overlook that another delivery of the same entry claimed them: it is contested then.
-- KEYS[1] source stream; further keys are named by the claims, outputs and counters
-- ARGV[1] consumer group, ARGV[2] number of entry ids, then the ids
-- then '' for entries of which nothing is claimed; 'first' when their deliverer thinks that it is the only one of each; and
-- of one entry 'repeated' when it is not, and 'gone' when it was deleted, and Redis has taken it off the group by itself
-- then the number of claims that the entries must not have, and for each: index of the hash in KEYS, identity, claim id
-- then the number of outputs, and for each: index of its stream in KEYS, number of arguments, those arguments; none: it was added
-- right before, in the same transaction, and is taken back unless this returns 1
-- then counters in threes: index of the hash in KEYS, field, increment
-- Returns 1; 0 when the entries were acknowledged before; -1 when the settlement is contested, or when it is one of several
-- entries of which not all are pending: then nothing is written.
local ids = tonumber(ARGV[2])
local delivery = ARGV[3 + ids]
local claims = tonumber(ARGV[4 + ids])
local outputsAt = 5 + ids + 3 * claims
local outputs = tonumber(ARGV[outputsAt])

local at = outputsAt + 1
for _ = 1, outputs do
  local size = tonumber(ARGV[at + 1])
  if size == 0 then
    addedBefore(KEYS[tonumber(ARGV[at])])
  end
  at = at + 2 + size
end

-- Acknowledges the entries when they are to be settled; else tells what is returned instead.
local function judge()
  if delivery == 'first' or delivery == 'repeated' then
    local pending = redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[3], ARGV[2 + ids], ids)
    if #pending == 0 and ids == 1 then
      return 0
    end
    if #pending ~= ids then
      return -1
    end
    for i = 1, ids do
      if pending[i][1] ~= ARGV[2 + i] or (delivery == 'first' and pending[i][4] > 1) then
        return -1
      end
    end
  end
  local at = 5 + ids
  for _ = 1, claims do
    if redis.call('HGET', KEYS[tonumber(ARGV[at])], ARGV[at + 1]) == ARGV[at + 2] then
      return -1
    end
    at = at + 3
  end
  if redis.call('XACK', KEYS[1], ARGV[1], unpack(ARGV, 3, 2 + ids)) == 0 and delivery ~= 'gone' then
    return 0
  end
end

local failure, result = tried(judge)
if failure then
  return failure
end
if result then
  takeAllBack()
  return result
end
at = outputsAt + 1
for _ = 1, outputs do
  local size = tonumber(ARGV[at + 1])
  if size > 0 then
    redis.call('XADD', KEYS[tonumber(ARGV[at])], '*', unpack(ARGV, at + 2, at + 1 + size))
  end
  at = at + 2 + size
end
for i = at, #ARGV, 3 do
  redis.call('HINCRBY', KEYS[tonumber(ARGV[i])], ARGV[i + 1], ARGV[i + 2])
end
return 1
