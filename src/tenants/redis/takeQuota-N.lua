#!lua flags=allow-oom
-- Counts lookups on daily quotas, request by request in their order: all lookups of a request, or none; and lots of what is
-- left, which are counted when they are taken.
-- Runs above maxmemory too: it takes a few bytes a tenant, and what needs more is refused by itself.
-- KEYS[2i-1] counter of a day, KEYS[2i] its lots; the same may be named more than once
-- ARGV[1] milliseconds after which a counter is not needed; then for each counter: lookups allowed a day, name of the lot that
--   is given back, what of it returns, what of it is kept, name of a new lot, lookups wanted for that beside what is kept,
--   how many runs follow, and the runs: requests, lookups that each of them wants
-- Returns for each counter the lookups counted before, without what returned; of each run how many requests were counted: its
--   first ones; what the new lot got, what was kept, and the lookups in lots of others.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local at = 2
local reply = {}
for i = 1, #KEYS, 2 do
  local key = KEYS[i]
  local before = tonumber(redis.call('GET', key) or '0')
  local state = redis.call('GET', KEYS[i + 1]) or ''
  local lots = settleLots(state, now, ARGV[at + 1], tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3]))
  local allowed, used, all = tonumber(ARGV[at]), before - lots.returned, true
  local name, wantedMore, runs = ARGV[at + 4], tonumber(ARGV[at + 5]), tonumber(ARGV[at + 6])
  at = at + 7
  reply[#reply + 1] = used
  for _ = 1, runs do
    local requests, wanted = tonumber(ARGV[at]), tonumber(ARGV[at + 1])
    at = at + 2
    local room = wanted > 0 and math.floor((allowed - used) / wanted) or (allowed >= used and requests or 0)
    local counted = math.max(0, math.min(requests, room))
    used, all = used + counted * wanted, all and counted == requests
    reply[#reply + 1] = counted
  end
  local more = addLot(lots, name, all and wantedMore or 0, allowed - used, now)
  used = used + more
  reply[#reply + 1] = more
  reply[#reply + 1] = lots.kept
  reply[#reply + 1] = lots.held
  if used ~= before then
    redis.call('INCRBY', key, used - before)
    redis.call('PEXPIRE', key, ARGV[1])
  end
  if #lots.texts > 0 then
    redis.call('SET', KEYS[i + 1], table.concat(lots.texts, ' '), 'PX', LOT_MICROS / 1000)
  elseif state ~= '' then
    redis.call('DEL', KEYS[i + 1])
  end
end
return reply
