#!lua flags=no-writes
-- Finds the claims of a generation that another partition is to have, once there are more partitions.
-- KEYS[1] prefix of the bucket keys of the generation; the keys are built from it, in the same slot
-- ARGV[1] the partition that has them, ARGV[2] the number of partitions to be, ARGV[3] the bucket to begin at
-- ARGV[4] number of buckets, ARGV[5] claims after which it ends, with the bucket; two buckets count as one claim
-- Returns the bucket to go on at, and the claims: identities of 16 bytes, each followed by its owner of 8 bytes.
local partition, partitions = tonumber(ARGV[1]), tonumber(ARGV[2])
local bucket, buckets, left = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local found = {}
while bucket < buckets and left > 0 do
  local claims = redis.call('HGETALL', KEYS[1] .. bucket)
  for i = 1, #claims, 2 do
    local a, b = string.byte(claims[i], 1, 2)
    if (a * 256 + b) % partitions ~= partition then
      found[#found + 1] = claims[i] .. claims[i + 1]
    end
  end
  left = left - 0.5 - #claims / 2
  bucket = bucket + 1
end
return { bucket, table.concat(found) }
