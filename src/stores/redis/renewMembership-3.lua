#!lua flags=allow-oom
-- Joins, renews or leaves: frees the shares that a member no longer wants, and assigns free ones to it, up to its part.
-- Parts differ by at most one. The remainder goes to the members that hold most, so that few shares move.
-- Runs above maxmemory: the members drain Redis, and intake stops well below.
-- KEYS[1] string: shares in force ('shares:N'; missing: one share); KEYS[2] sorted set: members by the end of their lease, ms
-- KEYS[3] hash: share → member
-- ARGV[1] member, ARGV[2] number of shares, ARGV[3] duration of a lease, ms
-- ARGV[4] prefix of the members that this process replaced, or ''
-- ARGV[5] number of shares that the member works on; then those shares; then the shares that it waits for; neither: it leaves
-- Returns the member's part, then the shares that it holds; {0}: it left; {-1}: another number of shares is in force, or an earlier
--   version holds the lease; {-2}: the lease of a member that works on shares has ended.
local call = redis.call
local me, count, ttl, replaced, working = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5])
local layout = 'shares:' .. ARGV[2]
if (call('GET', KEYS[1]) or 'shares:1') ~= layout then
  return { -1 }
end
local now = nowMs()
removeEnded(KEYS[2], now, ttl)
local isMember = call('ZSCORE', KEYS[2], me)
if working > 0 and not isMember then
  return { -2 }
end
local isLeaving = #ARGV == 5
if isLeaving then
  call('ZREM', KEYS[2], me)
else
  -- Only when it joins: a renewing member may itself be the replaced one.
  if not isMember then
    removeReplaced(KEYS[2], replaced)
  end
  call('ZADD', KEYS[2], now + ttl, me)
end

local wanted = {}
for i = 6, #ARGV do
  wanted[ARGV[i]] = i < 6 + working and 'works' or 'waits'
end
local members = call('ZRANGE', KEYS[2], 0, -1)
local held = {}
for _, member in ipairs(members) do
  held[member] = 0
end
local holders, assigned, free = {}, {}, {}
local fields = call('HGETALL', KEYS[3])
for i = 1, #fields, 2 do
  holders[fields[i]] = fields[i + 1]
end
for number = 0, count - 1 do
  local share = tostring(number)
  local holder, want = holders[share], wanted[share]
  if holder == me and not want then
    call('HDEL', KEYS[3], share)
  elseif holder and held[holder] then
    held[holder] = held[holder] + 1
    if holder == me then
      assigned[#assigned + 1] = number
    end
  elseif want == 'waits' then
    -- Does not assign a share again on which the member still works: another member may have had it in between.
    free[#free + 1] = number
  end
end
if isLeaving then
  if #members == 0 then
    call('DEL', KEYS[2], KEYS[3])
    if count == 1 then
      call('DEL', KEYS[1])
    end
  end
  return { 0 }
end

table.sort(members, function(a, b)
  if held[a] ~= held[b] then
    return held[a] > held[b]
  end
  return a < b
end)
local part = math.floor(count / #members)
for rank = 1, count % #members do
  if members[rank] == me then
    part = part + 1
  end
end
for i = 1, math.min(#free, part - held[me]) do
  call('HSET', KEYS[3], free[i], me)
  assigned[#assigned + 1] = free[i]
end
-- With one share the key expires, so that an earlier version, which knows no members, can take the lease later.
if count == 1 then
  call('SET', KEYS[1], layout, 'PX', ttl)
end
return { part, unpack(assigned) }
