-- Puts a dead letter back into the stream where it was, for its group alone, as one. It keeps its claim id only while that has
-- the claim; otherwise it is judged like an event that comes now. Its batch job, which counted it already, counts it no more,
-- and the outcome that it was counted under is taken back.
-- KEYS[1] dead letters, KEYS[2] stream, KEYS[3] counters, KEYS[4] stream of outcomes
-- KEYS[5] hash that may hold the claim id's claim; none without a claim id
-- ARGV[1] letter, ARGV[2] group, ARGV[3] field prefix of what was added to the stream, ARGV[4] counter of retries
-- ARGV[5] identity, ARGV[6] number of events, ARGV[7] field prefix of what was added to the outcomes
-- ARGV[8..] fields of the entry that takes the outcome back; none when nothing counted it
-- Returns 1, or 0 when the letter is not there any more: then nothing changes.
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
