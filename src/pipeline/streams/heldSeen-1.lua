#!lua flags=no-writes
-- Finds the identities that a claim id holds.
-- KEYS[1] prefix of the bucket keys of the claim id's generation; the keys are built from it, in the same slot
-- ARGV[1] claim id, ARGV[2] mask of the bucket number (buckets - 1), ARGV[3] identities of 16 bytes, concatenated
-- Returns the positions (from 0) of the identities that the claim id holds.
local byte, sub = string.byte, string.sub
local mask = tonumber(ARGV[2])
local held = {}
for i = 0, #ARGV[3] / 16 - 1 do
  local at = i * 16
  local a, b, c = byte(ARGV[3], at + 14, at + 16)
  local bucket = bit.band(a * 65536 + b * 256 + c, mask)
  if redis.call('HGET', KEYS[1] .. bucket, sub(ARGV[3], at + 1, at + 16)) == ARGV[1] then
    held[#held + 1] = i
  end
end
return held
