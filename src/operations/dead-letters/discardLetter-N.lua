#!lua flags=allow-oom
-- Removes a dead letter for good, and its event's claim, so that the event is new when it is sent again.
-- Runs above maxmemory too, because it frees memory.
-- KEYS[1] dead letters, KEYS[2] counters, KEYS[3..] hashes that may hold the claim
-- ARGV[1] letter, ARGV[2] counter of discarded events, ARGV[3] number of events, ARGV[4] identity, ARGV[5] claim id
-- ARGV[6] 'own': the claim must be ARGV[5]; 'before': it may also be an older claim of the event
-- Returns 1, or 0 without a change when the letter is gone.
if redis.call('XDEL', KEYS[1], ARGV[1]) == 0 then
  return 0
end
redis.call('HINCRBY', KEYS[2], ARGV[2], ARGV[3])

-- The first 41 bits of a claim id are its milliseconds.
local function msOf(claimId)
  local a, b, c, d, e, f = string.byte(claimId, 1, 6)
  return math.floor((((((a * 256 + b) * 256 + c) * 256 + d) * 256 + e) * 256 + f) / 128)
end
for i = 3, #KEYS do
  local claim = redis.call('HGET', KEYS[i], ARGV[4])
  if claim and (claim == ARGV[5] or (ARGV[6] == 'before' and msOf(claim) <= msOf(ARGV[5]))) then
    redis.call('HDEL', KEYS[i], ARGV[4])
  end
end
return 1
