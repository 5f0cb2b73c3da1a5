#!lua flags=allow-oom
-- Writes a key, only while the member holds the share. The member's name is the fencing token: it is new with each lease.
-- Runs above maxmemory: the members drain Redis, and intake stops well below.
-- KEYS[1 to 3] as in renewMembership-3.lua; KEYS[4] key to write
-- ARGV[1] member, ARGV[2] number of shares, ARGV[3] share, ARGV[4] value; '' deletes the key
-- Returns 1, or 0 when the member does not hold the share.
local call = redis.call
if not holdsShare() then
  return 0
end
if ARGV[4] == '' then
  call('DEL', KEYS[4])
else
  call('SET', KEYS[4], ARGV[4])
end
return 1
