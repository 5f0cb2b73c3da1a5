#!lua flags=allow-oom
-- Removes a dead letter for good, and with it the claim that its event is kept: sent again, it is a new one.
-- Runs above maxmemory too: it is what drains Redis, and intake has stopped well below.
-- KEYS[1] dead letters, KEYS[2] counters, KEYS[3..] hashes that may hold the claim
-- ARGV[1] letter, ARGV[2] counter of what was discarded, ARGV[3] number of events, ARGV[4] identity, ARGV[5] claim id
-- ARGV[6] 'own' when the claim has to be the claim id's; 'before' when it is that of an earlier entry of the event
-- Returns 1, or 0 when the letter is not there any more: then nothing changes.
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
