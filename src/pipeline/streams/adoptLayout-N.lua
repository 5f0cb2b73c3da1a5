#!lua flags=allow-oom
-- Lets another number of shares of a sink be in force, when nobody works by the one before and nothing of it is unfinished.
-- Runs above maxmemory too: it is what drains Redis, and intake has stopped well below.
-- KEYS[1] what says how many shares there are: the lease of the sink while there is one alone, KEYS[2] the roster of processes;
--   then of each share of before its owner, its intent and its note of servers; then of each share to come its note of servers
-- ARGV[1] what KEYS[1] has to say, '' when there is one alone, ARGV[2] what it is to say, ARGV[3] the number of shares of before
-- Returns 0 when it is done, the number of a share from 1 on whose intent is open, or -1: somebody works, or it says something else.
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then
  return -1
end
local before = tonumber(ARGV[3])
for share = 0, before - 1 do
  -- With one alone, its owner is looked for above.
  if ARGV[1] ~= '' and redis.call('EXISTS', KEYS[3 + 3 * share]) == 1 then
    return -1
  end
end
for share = 0, before - 1 do
  if redis.call('EXISTS', KEYS[4 + 3 * share]) == 1 then
    return share + 1
  end
end

-- Whatever one of them may have read before servers changed, any of those to come may read again.
local ids, since
for share = 0, before - 1 do
  local key = KEYS[5 + 3 * share]
  local note = redis.call('GET', key)
  if note then
    local lives = cjson.decode(note)
    if ids ~= nil and ids ~= lives.ids then
      ids = ''
    else
      ids = lives.ids
    end
    since = math.max(since or 0, lives.sinceMs)
    redis.call('DEL', key)
  end
end
if since then
  local note = cjson.encode({ ids = ids, sinceMs = since })
  for i = 3 + 3 * before, #KEYS do
    redis.call('SET', KEYS[i], note)
  end
end
redis.call('DEL', KEYS[2])
if ARGV[2] == '' then
  redis.call('DEL', KEYS[1])
else
  redis.call('SET', KEYS[1], ARGV[2])
end
return 0
