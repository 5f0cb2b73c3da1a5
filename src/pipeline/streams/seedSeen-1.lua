-- Adds claims to a generation of the dedup window. Existing claims stay as they are, so it may run twice.
-- KEYS[1] prefix of the bucket keys of the generation; the keys are built from it, in the same slot
-- ARGV[1] mask of the bucket number (buckets - 1)
-- ARGV[2] when the keys of the generation expire, Unix ms
-- ARGV[3] identities of 16 bytes, each followed by its claim id of 8 bytes
-- Returns the number of claims added.
local byte, sub, call = string.byte, string.sub, redis.call
local mask = tonumber(ARGV[1])
local packed = ARGV[3]
if call('SETNX', KEYS[1] .. 'm', '') == 1 then
  call('PEXPIREAT', KEYS[1] .. 'm', ARGV[2])
end
local added = 0
for at = 1, #packed, 24 do
  local a, b, c = byte(packed, at + 13, at + 15)
  local key = KEYS[1] .. bit.band(a * 65536 + b * 256 + c, mask)
  if call('HSETNX', key, sub(packed, at, at + 15), sub(packed, at + 16, at + 23)) == 1 then
    added = added + 1
    if call('HLEN', key) == 1 then
      call('PEXPIREAT', key, ARGV[2])
    end
  end
end
if added > 0 and call('INCRBY', KEYS[1] .. 'n', added) == added then
  call('PEXPIREAT', KEYS[1] .. 'n', ARGV[2])
end
return added
