-- Adds to what is counted of a tenant's day by network. One network that finds no room takes as many of all others with it,
-- after Misra and Gries: those of a large share stay, whenever they come.
-- KEYS[1] the counts
-- ARGV[1] milliseconds that they are kept, ARGV[2] most networks
-- behind them pairs of a field and a number; the first is that of all events, which is no network
local function room(field)
  return redis.call('HLEN', KEYS[1]) <= tonumber(ARGV[2]) or redis.call('HEXISTS', KEYS[1], field) == 1
end

local function give_way(field, events)
  local counts = redis.call('HGETALL', KEYS[1])
  local least = events
  for i = 1, #counts, 2 do
    if counts[i] ~= ARGV[3] then
      least = math.min(least, tonumber(counts[i + 1]))
    end
  end
  for i = 1, #counts, 2 do
    if counts[i] ~= ARGV[3] and redis.call('HINCRBY', KEYS[1], counts[i], -least) <= 0 then
      redis.call('HDEL', KEYS[1], counts[i])
    end
  end
  if events > least then
    redis.call('HSET', KEYS[1], field, events - least)
  end
end

for i = 3, #ARGV, 2 do
  if room(ARGV[i]) then
    redis.call('HINCRBY', KEYS[1], ARGV[i], ARGV[i + 1])
  else
    give_way(ARGV[i], tonumber(ARGV[i + 1]))
  end
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
