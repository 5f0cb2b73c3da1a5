#!lua flags=allow-oom
-- Settles entries: acknowledges them and writes their results, atomically. If they were acknowledged before, it writes nothing, so
-- it may run twice.
-- Runs above maxmemory, because it drains Redis. Intake stops well below.
-- KEYS[1] source stream; claims, outputs and counters name further keys by their index
-- ARGV[1] consumer group
-- ARGV[2] number of entries; then their ids
-- then the kind of delivery: '' if the step claims nothing; 'first' if no entry was delivered before, as far as the consumer knows;
--   'repeated' for one entry that was; 'gone' for one entry that was deleted while pending, which Redis has removed from the group
-- then the number of claims that must not exist, because the settlement drops their events; for each: index of the hash in KEYS,
--   identity, claim id
-- then the number of outputs; for each: index of the stream in KEYS, number of arguments, those arguments.
--   0 arguments: the entry was added by the same transaction, right before this script. Unless this returns 1, it is removed.
-- then counters, three arguments each: index of the hash in KEYS, field, increment
-- Returns 1 when the settlement is written; 0 when the entries were acknowledged before; -1 when it is contested: another delivery
--   of an entry exists or has claimed a dropped event, or not all of several entries are pending. Then nothing is written.
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

-- Acknowledges the entries. Returns what the script must return instead of 1, or nil.
local function acknowledge()
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

local failure, result = tried(acknowledge)
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
