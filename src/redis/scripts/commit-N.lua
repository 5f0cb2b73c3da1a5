#!lua flags=allow-oom
-- Acknowledges entries and writes what became of them, as one. A second worker that finished the same entries adds nothing.
-- Runs above maxmemory too: it is what drains Redis, and intake has stopped well below.
-- KEYS[1] source stream; further keys are named by the outputs and counters
-- ARGV[1] consumer group, ARGV[2] number of entry ids, then the ids
-- then the number of outputs, and for each: index of its stream in KEYS, number of arguments, those arguments
-- then counters in threes: index of the hash in KEYS, field, increment
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
for i = at, #ARGV, 3 do
  redis.call('HINCRBY', KEYS[tonumber(ARGV[i])], ARGV[i + 1], ARGV[i + 2])
end
return 1
