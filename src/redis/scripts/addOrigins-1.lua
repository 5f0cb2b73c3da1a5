-- Adds to what is counted of a tenant's day by network.
-- KEYS[1] the counts
-- ARGV[1] milliseconds that they are kept, ARGV[2] most fields
-- behind them pairs of a field and a number
for i = 3, #ARGV, 2 do
  if redis.call('HLEN', KEYS[1]) < tonumber(ARGV[2]) or redis.call('HEXISTS', KEYS[1], ARGV[i]) == 1 then
    redis.call('HINCRBY', KEYS[1], ARGV[i], ARGV[i + 1])
  end
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
