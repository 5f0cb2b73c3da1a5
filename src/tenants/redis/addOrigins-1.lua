-- Adds to a tenant's counts of a day by network. When there is no room for a new network, it lowers all counts by the smallest
-- one (Misra and Gries), so that networks with a large share stay.
-- KEYS[1] counts
-- ARGV[1] milliseconds to keep them, ARGV[2] maximum number of networks
-- ARGV[3..] pairs of a field and a number; the first pair counts all events
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
