#!lua flags=allow-oom
-- Removes the buckets of the generations of the dedup window that are over. Their keys have no expiry of their own, which
-- would cost a look at the bucket for every claim.
-- Runs above maxmemory too: it frees memory.
-- KEYS[1] generations: sorted set of the prefixes of their bucket keys, which are in the same slot, by when they are over
-- ARGV[1] Unix milliseconds of now, ARGV[2] number of buckets, ARGV[3] generations to remove at most
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
