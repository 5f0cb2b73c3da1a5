-- Appends blocks of one commit to their partitions' streams, all of them or, when they are there already, none.
-- KEYS: for each block three: stream, producer, counters
-- ARGV[1] sequence number of the commit, ascending per producer
-- ARGV[2] milliseconds for which the producer is remembered
-- then for each block: number of events, field prefix of the counters, number of stream field arguments, those arguments
-- A producer is one of one stream: blocks of a partition that go to two streams have two.
-- Returns the number of blocks added; those that the producer had added before are left out.
local seq = tonumber(ARGV[1])
local at = 3
local added = 0
for k = 1, #KEYS, 3 do
  local events = ARGV[at]
  local prefix = ARGV[at + 1]
  local size = tonumber(ARGV[at + 2])
  local last = redis.call('GET', KEYS[k + 1])
  if not last or tonumber(last) < seq then
    redis.call('XADD', KEYS[k], '*', unpack(ARGV, at + 3, at + 2 + size))
    redis.call('SET', KEYS[k + 1], ARGV[1], 'PX', ARGV[2])
    redis.call('HINCRBY', KEYS[k + 2], prefix .. ':entries', 1)
    redis.call('HINCRBY', KEYS[k + 2], prefix .. ':events', events)
    added = added + 1
  end
  at = at + 3 + size
end
return added
