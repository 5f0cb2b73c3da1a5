-- Moves a dead letter back to its stream, for its own group only. It keeps its claim id only if that still has the claim;
-- otherwise dedup treats it like a new event. Its batch job does not count it again, and its outcome is undone.
-- KEYS[1] dead letters, KEYS[2] stream, KEYS[3] counters, KEYS[4] stream of outcomes
-- KEYS[5] hash that may hold the claim; absent without a claim id
-- ARGV[1] letter, ARGV[2] group, ARGV[3] prefix of the counters of added entries, ARGV[4] counter of retries
-- ARGV[5] identity, ARGV[6] number of events, ARGV[7] the same prefix for the outcomes
-- ARGV[8..] fields of the entry that undoes the outcome; absent when the event was not counted
-- Returns 1, or 0 without a change when the letter is gone.
local letter = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])[1]
if not letter then
  return 0
end
local left = { group = true, stream = true, lane = true, reason = true, outcome = true, first = true, d = true, g = true }
local fields = { 'g', ARGV[2], 'd', '1' }
for i = 1, #letter[2], 2 do
  local name, value = letter[2][i], letter[2][i + 1]
  local isLost = name == 'o' and (not KEYS[5] or redis.call('HGET', KEYS[5], ARGV[5]) ~= value)
  if not left[name] and not isLost then
    fields[#fields + 1] = name
    fields[#fields + 1] = value
  end
end
redis.call('XADD', KEYS[2], '*', unpack(fields))
redis.call('XDEL', KEYS[1], ARGV[1])
redis.call('HINCRBY', KEYS[3], ARGV[3] .. ':entries', 1)
redis.call('HINCRBY', KEYS[3], ARGV[3] .. ':events', ARGV[6])
redis.call('HINCRBY', KEYS[3], ARGV[4], ARGV[6])
if ARGV[8] then
  redis.call('XADD', KEYS[4], '*', unpack(ARGV, 8))
  redis.call('HINCRBY', KEYS[3], ARGV[7] .. ':entries', 1)
  redis.call('HINCRBY', KEYS[3], ARGV[7] .. ':events', 1)
end
return 1
