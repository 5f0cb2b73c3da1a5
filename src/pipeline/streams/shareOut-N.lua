#!lua flags=allow-oom
-- Renews a process's shares of a sink, and takes free ones up to its fair part.
-- Runs above maxmemory too: it is what drains Redis, and intake has stopped well below.
-- KEYS[1] what says how many shares there are, KEYS[2] the roster of processes; then of each share its owner
-- ARGV[1] what KEYS[1] has to say, ARGV[2] who asks, ARGV[3] milliseconds until what is not renewed ends
-- ARGV[4] how an owner begins that has ended for sure when somebody asks in its place, or ''
-- ARGV[5…] of each share what it is to the asker: 'works', 'waits' for it, or 'none'
-- Returns the asker's fair part, then of each share 1 or 0: whether the asker has it; nil: there are not so many shares.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return false
end
local me, ttl, place = ARGV[2], tonumber(ARGV[3]), ARGV[4]
local function has_ended(other)
  return place ~= '' and other ~= me and string.sub(other, 1, #place) == place
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
redis.call('ZADD', KEYS[2], now + ttl, me)
local members = {}
for _, member in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do
  if has_ended(member) then
    redis.call('ZREM', KEYS[2], member)
  else
    members[#members + 1] = member
  end
end

-- Parts differ by one at most. What is left over goes to those who have most, then by name: all see the same, and little moves.
local count, owners, has = #KEYS - 2, {}, {}
for share = 1, count do
  local owner = redis.call('GET', KEYS[2 + share])
  owners[share] = owner
  if owner then
    has[owner] = (has[owner] or 0) + 1
  end
end
table.sort(members, function(a, b)
  local of_a, of_b = has[a] or 0, has[b] or 0
  if of_a == of_b then
    return a < b
  end
  return of_a > of_b
end)
local part = math.floor(count / #members)
for rank = 1, count % #members do
  if members[rank] == me then
    part = part + 1
  end
end

local answer, free = { part }, {}
for share = 1, count do
  local owner, use = owners[share], ARGV[4 + share]
  answer[1 + share] = 0
  if owner == me then
    if use ~= 'none' then
      redis.call('PEXPIRE', KEYS[2 + share], ttl)
      answer[1 + share] = 1
    end
  elseif use == 'waits' and (not owner or has_ended(owner)) then
    -- Not what the asker works on: it was another's in between, and what the asker still writes is to be refused.
    free[#free + 1] = share
  end
end
for i = 1, math.min(#free, part - (has[me] or 0)) do
  redis.call('SET', KEYS[2 + free[i]], me, 'PX', ttl)
  answer[1 + free[i]] = 1
end
return answer
