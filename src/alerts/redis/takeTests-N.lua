-- Counts a message in its limits, or in none of them when one is reached. A window begins with its first message.
-- KEYS counts
-- ARGV[1] most messages of a window, ARGV[2] its milliseconds
-- Returns 0; or the number of the key whose limit is reached, and the milliseconds until its window ends.
for i, key in ipairs(KEYS) do
  if tonumber(redis.call('GET', key) or 0) >= tonumber(ARGV[1]) then
    return { i, redis.call('PTTL', key) }
  end
end
for _, key in ipairs(KEYS) do
  redis.call('SET', key, 0, 'PX', ARGV[2], 'NX')
  redis.call('INCR', key)
end
return 0
