#!lua flags=allow-oom
-- Puts another number of shares in force, unless a member works with the old number or an intent of it is open.
-- Runs above maxmemory: the members drain Redis, and intake stops well below.
-- KEYS[1 to 3] as in renewMembership-3.lua; then keys of which none may exist
-- ARGV[1] what KEYS[1] holds, '' when it is missing; ARGV[2] number of shares to come; ARGV[3] duration of a lease, ms
-- ARGV[4] prefix of the members that this process replaced, or ''
-- Returns 0 when it is done; n when the n-th of the further keys exists; -1 when others are at work, or KEYS[1] holds
-- something else.
local call = redis.call
local inForce, ttl, place = ARGV[1], tonumber(ARGV[3]), ARGV[4]
if (call('GET', KEYS[1]) or '') ~= inForce then
  return -1
end
if inForce ~= '' and not string.find(inForce, '^shares[: ]%d+$') then
  -- The owner of a lease of an earlier version.
  if not startsWith(inForce, place) then
    -- The clock may have been set back: no lease lasts longer than a renewal gives.
    if call('PTTL', KEYS[1]) > ttl then
      call('PEXPIRE', KEYS[1], ttl)
    end
    return -1
  end
else
  removeEnded(KEYS[2], nowMs(), ttl)
  removeReplaced(KEYS[2], place)
  if call('ZCARD', KEYS[2]) > 0 then
    return -1
  end
end
for i = 4, #KEYS do
  if call('EXISTS', KEYS[i]) == 1 then
    return i - 3
  end
end
call('DEL', KEYS[1], KEYS[2], KEYS[3])
if ARGV[2] ~= '1' then
  call('SET', KEYS[1], 'shares:' .. ARGV[2])
end
return 0
