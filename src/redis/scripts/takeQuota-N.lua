#!lua flags=allow-oom
-- Counts lookups on daily quotas, request by request in their order: all lookups of a request, or none.
-- Runs above maxmemory too: it takes a few bytes a tenant, and what needs more is refused by itself.
-- KEYS[i] counter of a day; the same may be named more than once
-- ARGV[1] milliseconds after which a counter is not needed; then for each counter: lookups allowed a day, how many runs
--   follow, and the runs: requests, lookups that each of them wants
-- Returns for each counter the lookups counted before, and of each run how many requests were counted: its first ones.
local at = 2
local reply = {}
for _, key in ipairs(KEYS) do
  local before = tonumber(redis.call('GET', key) or '0')
  local used, allowed, runs = before, tonumber(ARGV[at]), tonumber(ARGV[at + 1])
  at = at + 2
  reply[#reply + 1] = before
  for _ = 1, runs do
    local requests, wanted = tonumber(ARGV[at]), tonumber(ARGV[at + 1])
    at = at + 2
    local room = wanted > 0 and math.floor((allowed - used) / wanted) or (allowed >= used and requests or 0)
    local counted = math.max(0, math.min(requests, room))
    used = used + counted * wanted
    reply[#reply + 1] = counted
  end
  if used > before then
    redis.call('INCRBY', key, used - before)
    redis.call('PEXPIRE', key, ARGV[1])
  end
end
return reply
