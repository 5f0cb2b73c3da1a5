#!lua flags=allow-oom
-- Puts another number of shares in force, unless a member works with the old number or an intent of it is open.
-- Runs above maxmemory: the members drain Redis, and intake stops well below.
-- KEYS[1 to 3] as in renewMembership-3.lua; KEYS[4..] keys that must not exist, such as open intents
-- ARGV[1] expected value of KEYS[1], '' if missing; ARGV[2] new number of shares; ARGV[3] duration of a lease, ms
-- ARGV[4] prefix of the members that this process replaced, or ''
-- Returns 0 when the new number is in force; n when KEYS[3+n] exists; -1 when members are at work, or KEYS[1] has another value.
local call = redis.call
local inForce, ttl, replaced = ARGV[1], tonumber(ARGV[3]), ARGV[4]
if (call('GET', KEYS[1]) or '') ~= inForce then
  return -1
end
if inForce ~= '' and not string.find(inForce, '^shares[: ]%d+$') then
  -- An earlier version stored the holder of the lease here.
  if not startsWith(inForce, replaced) then
    -- The clock may have been set back: a lease must not last longer than one renewal.
    if call('PTTL', KEYS[1]) > ttl then
      call('PEXPIRE', KEYS[1], ttl)
    end
    return -1
  end
else
  removeEnded(KEYS[2], nowMs(), ttl)
  removeReplaced(KEYS[2], replaced)
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
