-- Appends blocks of one commit to their partitions' streams, all of them or, when they are there already, none.
-- KEYS: for each block three: stream, producer, counters
-- ARGV[1] sequence number of the commit, ascending per producer
-- ARGV[2] milliseconds for which the producer is remembered
-- then for each block: field prefix of the counters, number of events, name of a field or '', number of stream field
-- arguments, those arguments. A field that is named gets the id of the entry that the block before became
-- Returns the number of blocks added; those that the producer had added before are left out.
local seq = tonumber(ARGV[1])
local at = 3
local added = 0
local before
for k = 1, #KEYS, 3 do
  local prefix = ARGV[at]
  local link = ARGV[at + 2]
  local size = tonumber(ARGV[at + 3])
  local last = redis.call('GET', KEYS[k + 1])
  if not last or tonumber(last) < seq then
    local fields = { unpack(ARGV, at + 4, at + 3 + size) }
    if link ~= '' and before then
      fields[size + 1] = link
      fields[size + 2] = before
    end
    before = redis.call('XADD', KEYS[k], '*', unpack(fields))
    redis.call('SET', KEYS[k + 1], ARGV[1], 'PX', ARGV[2])
    redis.call('HINCRBY', KEYS[k + 2], prefix .. ':entries', 1)
    redis.call('HINCRBY', KEYS[k + 2], prefix .. ':events', ARGV[at + 1])
    added = added + 1
  else
    before = nil
  end
  at = at + 4 + size
end
return added
