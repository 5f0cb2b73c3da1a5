#!lua flags=allow-oom
-- Settles entries: acknowledges them and writes what became of them, as one. A second consumer that finished the same
-- entries adds nothing.
-- Runs above maxmemory too: it is what drains Redis, and intake has stopped well below.
-- KEYS[1] source stream; further keys are named by the outputs, counters and claims
-- ARGV[1] consumer group, ARGV[2] number of entry ids, then the ids
-- then the number of outputs, and for each: index of its stream in KEYS, number of arguments, those arguments
-- then the number of counters, and for each: index of the hash in KEYS, field, increment
-- then claims to give back, in threes: index of the hash in KEYS, identity, owner
-- Returns 1, or 0 when the entries were acknowledged before.
local at = 3 + tonumber(ARGV[2])
if redis.call('XACK', KEYS[1], ARGV[1], unpack(ARGV, 3, at - 1)) == 0 then
  return 0
end
local outputs = tonumber(ARGV[at])
at = at + 1
for _ = 1, outputs do
  local size = tonumber(ARGV[at + 1])
  redis.call('XADD', KEYS[tonumber(ARGV[at])], '*', unpack(ARGV, at + 2, at + 1 + size))
  at = at + 2 + size
end
local counters = tonumber(ARGV[at])
at = at + 1
for _ = 1, counters do
  redis.call('HINCRBY', KEYS[tonumber(ARGV[at])], ARGV[at + 1], ARGV[at + 2])
  at = at + 3
end
for i = at, #ARGV, 3 do
  local key = KEYS[tonumber(ARGV[i])]
  if redis.call('HGET', key, ARGV[i + 1]) == ARGV[i + 2] then
    redis.call('HDEL', key, ARGV[i + 1])
  end
end
return 1
