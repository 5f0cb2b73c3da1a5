-- Forgets claims that were made before a time: what they stand for is lost.
-- KEYS prefixes of the bucket keys of generations; the keys are built from them, in the same slot
-- ARGV[1] mask of the bucket number (buckets - 1)
-- ARGV[2] milliseconds (since 2024-01-01 UTC) from which on a claim stays
-- ARGV[3] identities of 16 bytes, one behind the other
-- Returns the number of claims that are gone.
local byte, sub, call = string.byte, string.sub, redis.call
local mask = tonumber(ARGV[1])
local before = tonumber(ARGV[2])
local gone = 0
for i = 0, #ARGV[3] / 16 - 1 do
  local at = i * 16
  local a, b, c = byte(ARGV[3], at + 14, at + 16)
  local bucket = bit.band(a * 65536 + b * 256 + c, mask)
  local field = sub(ARGV[3], at + 1, at + 16)
  for k = 1, #KEYS do
    local owner = call('HGET', KEYS[k] .. bucket, field)
    if owner then
      local o1, o2, o3, o4, o5, o6 = byte(owner, 1, 6)
      local ms = math.floor((((((o1 * 256 + o2) * 256 + o3) * 256 + o4) * 256 + o5) * 256 + o6) / 128)
      if ms < before then
        gone = gone + call('HDEL', KEYS[k] .. bucket, field)
      end
    end
  end
end
return gone
