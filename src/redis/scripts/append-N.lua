-- Appends blocks of one commit to their partitions' streams, all of them or, when they are there already, none.
-- KEYS: for each block three: stream, producer, counters
-- ARGV[1] sequence number of the commit, ascending per producer
-- ARGV[2] milliseconds for which the producer is remembered
-- ARGV[3] field prefix of the counters
-- then for each block: number of events, number of stream field arguments, those arguments
-- Returns the number of blocks added; those that the producer had added before are left out.
local seq = tonumber(ARGV[1])
local at = 4
local added = 0
for k = 1, #KEYS, 3 do
  local events = ARGV[at]
  local size = tonumber(ARGV[at + 1])
  local last = redis.call('GET', KEYS[k + 1])
  if not last or tonumber(last) < seq then
    redis.call('XADD', KEYS[k], '*', unpack(ARGV, at + 2, at + 1 + size))
    redis.call('SET', KEYS[k + 1], ARGV[1], 'PX', ARGV[2])
    redis.call('HINCRBY', KEYS[k + 2], ARGV[3] .. ':entries', 1)
    redis.call('HINCRBY', KEYS[k + 2], ARGV[3] .. ':events', events)
    added = added + 1
  end
  at = at + 2 + size
end
return added
