#!lua flags=allow-oom
-- Removes generations of the dedup window that have ended. Bucket keys have no expiry, because setting one would cost a check at every
-- claim.
-- Runs above maxmemory, because it frees memory.
-- KEYS[1] sorted set: prefixes of the generations' bucket keys by their end, Unix ms; the keys are in the same slot
-- ARGV[1] now, Unix ms; ARGV[2] number of buckets; ARGV[3] maximum number of generations to remove
-- Returns the number of generations removed.
local PAGE = 1024
local over = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, ARGV[3])
for _, prefix in ipairs(over) do
  for from = 0, ARGV[2] - 1, PAGE do
    local names = {}
    for bucket = from, math.min(from + PAGE, ARGV[2]) - 1 do
      names[#names + 1] = prefix .. string.format('%d', bucket)
    end
    redis.call('UNLINK', unpack(names))
  end
  redis.call('ZREM', KEYS[1], prefix)
end
return #over
