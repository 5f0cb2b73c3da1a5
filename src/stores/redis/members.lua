-- Functions for the scripts that divide shares among members. The score of a member is the end of its lease, ms of Redis' clock.
local function nowMs()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function startsWith(text, prefix)
  return prefix ~= '' and string.sub(text, 1, #prefix) == prefix
end

-- Removes members whose lease has ended.
local function removeEnded(members, now, ttl)
  redis.call('ZREMRANGEBYSCORE', members, '-inf', now)
  -- The clock may have been set back: a lease must not last longer than one renewal.
  for _, member in ipairs(redis.call('ZRANGE', members, '(' .. now + ttl, '+inf', 'BYSCORE')) do
    redis.call('ZADD', members, now + ttl, member)
  end
end

-- Removes members of the processes that the caller replaced.
local function removeReplaced(members, replaced)
  for _, member in ipairs(redis.call('ZRANGE', members, 0, -1)) do
    if startsWith(member, replaced) then
      redis.call('ZREM', members, member)
    end
  end
end

-- Whether a member holds a share now. KEYS[1] to KEYS[3] and ARGV[1] to ARGV[3] as in writeUnderLease-4.lua.
local function holdsShare()
  local untilMs = tonumber(redis.call('ZSCORE', KEYS[2], ARGV[1]) or 0)
  local isInForce = (redis.call('GET', KEYS[1]) or 'shares:1') == 'shares:' .. ARGV[2]
  return isInForce and untilMs > nowMs() and redis.call('HGET', KEYS[3], ARGV[3]) == ARGV[1]
end
