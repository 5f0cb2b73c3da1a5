-- Enters identities into a generation of the dedup window, each with its claim id. One that is there already stays as it is.
-- KEYS[1] prefix of the bucket keys of the generation; the keys are built from it, in the same slot
-- ARGV[1] mask of the bucket number (buckets - 1)
-- ARGV[2] Unix milliseconds at which keys of the generation expire
-- ARGV[3] identities of 16 bytes, each followed by its claim id of 8 bytes
-- Returns the number of identities entered.
local byte, sub, call = string.byte, string.sub, redis.call
local mask = tonumber(ARGV[1])
local packed = ARGV[3]
if call('SETNX', KEYS[1] .. 'm', '') == 1 then
  call('PEXPIREAT', KEYS[1] .. 'm', ARGV[2])
end
local entered = 0
for at = 1, #packed, 24 do
  local a, b, c = byte(packed, at + 13, at + 15)
  local key = KEYS[1] .. bit.band(a * 65536 + b * 256 + c, mask)
  if call('HSETNX', key, sub(packed, at, at + 15), sub(packed, at + 16, at + 23)) == 1 then
    entered = entered + 1
    if call('HLEN', key) == 1 then
      call('PEXPIREAT', key, ARGV[2])
    end
  end
end
if entered > 0 and call('INCRBY', KEYS[1] .. 'n', entered) == entered then
  call('PEXPIREAT', KEYS[1] .. 'n', ARGV[2])
end
return entered
