#!lua flags=allow-oom
-- Renews a member's place among those who share a lease, takes back what it gives up, and gives it free shares up to its part.
-- Parts are the number of shares by that of members; what is left over goes to those who hold most, so that nothing moves in vain.
-- Runs above maxmemory too: it is what drains Redis, and intake has stopped well below.
-- KEYS[1] owner of the lease: while it is shared, how; KEYS[2] members: sorted set, until when, ms; KEYS[3] hash: share → member
-- ARGV[1] member, ARGV[2] number of shares, ARGV[3] milliseconds until its place ends unless it is renewed
-- ARGV[4] how members and owners begin that have ended for sure when somebody asks in their place, or ''
-- ARGV[5] 1 when it has nothing in hand and may become a member; then the shares that it gives up
-- Returns its part, then the shares that it holds; or -1 while the lease is another's, or shared otherwise; or -2 when its place
-- has ended, so that what it held may be another's.
local call = redis.call
local me, shares, ttl, place = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local layout = 'shares:' .. ARGV[2]
local joins = ARGV[5] == '1'
-- Whoever renews may be the one that has been replaced.
local function ended(name)
  return joins and name ~= me and place ~= '' and string.sub(name, 1, #place) == place
end

local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
-- The clock was set back since: nobody may hold anything for longer than a renewal gives.
for _, member in ipairs(call('ZRANGE', KEYS[2], '(' .. now + ttl, '+inf', 'BYSCORE')) do
  call('ZADD', KEYS[2], now + ttl, member)
end
if call('PTTL', KEYS[1]) > ttl then
  call('PEXPIRE', KEYS[1], ttl)
end
for _, member in ipairs(call('ZRANGE', KEYS[2], 0, -1)) do
  if ended(member) then
    call('ZREM', KEYS[2], member)
  end
end
local owner = call('GET', KEYS[1])
if owner ~= layout then
  if owner and not ended(owner) and (string.sub(owner, 1, 7) ~= 'shares:' or call('ZCARD', KEYS[2]) > 0) then
    return { -1 }
  end
  call('DEL', KEYS[2], KEYS[3])
end
if not joins and not call('ZSCORE', KEYS[2], me) then
  return { -2 }
end
call('ZADD', KEYS[2], now + ttl, me)
for i = 6, #ARGV do
  if call('HGET', KEYS[3], ARGV[i]) == me then
    call('HDEL', KEYS[3], ARGV[i])
  end
end

local members = call('ZRANGE', KEYS[2], 0, -1)
local held = {}
for _, member in ipairs(members) do
  held[member] = {}
end
local owners = {}
local fields = call('HGETALL', KEYS[3])
for i = 1, #fields, 2 do
  owners[tonumber(fields[i])] = fields[i + 1]
end
local free = {}
for share = 0, shares - 1 do
  local member = owners[share]
  table.insert(member and held[member] or free, share)
end
table.sort(members, function(a, b)
  if #held[a] ~= #held[b] then
    return #held[a] > #held[b]
  end
  return a < b
end)
local part = math.floor(shares / #members)
for i = 1, shares % #members do
  if members[i] == me then
    part = part + 1
  end
end
for _, share in ipairs(free) do
  if #held[me] < part then
    call('HSET', KEYS[3], share, me)
    table.insert(held[me], share)
  end
end
call('SET', KEYS[1], layout, 'PX', ttl)
call('PEXPIRE', KEYS[2], ttl)
call('PEXPIRE', KEYS[3], ttl)
return { part, unpack(held[me]) }
