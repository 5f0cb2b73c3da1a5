-- Removes touched companies that were evaluated, unless they were touched again.
-- KEYS[1] touched companies of the tenant
-- ARGV pairs of company and the time that was read, at most 1,000
for i = 1, #ARGV, 2 do
  if redis.call('ZSCORE', KEYS[1], ARGV[i]) == ARGV[i + 1] then
    redis.call('ZREM', KEYS[1], ARGV[i])
  end
end
