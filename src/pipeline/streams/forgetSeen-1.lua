-- Removes claims from a generation of the dedup window, so that events of these identities count as new.
-- KEYS[1] prefix of the bucket keys of the generation; the keys are built from it, in the same slot
-- ARGV[1] mask of the bucket number (buckets - 1)
-- ARGV[2] removes only claims from before this time, in ms since 2024-01-01
-- ARGV[3] identities of 16 bytes, concatenated
-- Returns the number of claims removed.
local byte, sub, call = string.byte, string.sub, redis.call
local mask = tonumber(ARGV[1])
local before = tonumber(ARGV[2])
local identities = ARGV[3]

-- The first 41 bits of a claim id are milliseconds since 2024-01-01.
local function msOf(claimId)
  local a, b, c, d, e, f = byte(claimId, 1, 6)
  return math.floor((((((a * 256 + b) * 256 + c) * 256 + d) * 256 + e) * 256 + f) / 128)
end

if call('EXISTS', KEYS[1] .. 'm') == 0 then
  return 0
end
local forgotten = 0
for at = 1, #identities, 16 do
  local identity = sub(identities, at, at + 15)
  local a, b, c = byte(identity, 14, 16)
  local key = KEYS[1] .. bit.band(a * 65536 + b * 256 + c, mask)
  local claimId = call('HGET', key, identity)
  if claimId and msOf(claimId) < before then
    forgotten = forgotten + call('HDEL', key, identity)
  end
end
if forgotten > 0 and call('EXISTS', KEYS[1] .. 'n') == 1 then
  call('DECRBY', KEYS[1] .. 'n', forgotten)
end
return forgotten
