-- Ends the running job of a tenant, and takes the tenant out of the queue if no other job waits, under the lease. Running it twice changes
-- nothing more.
-- KEYS[1 to 3] and ARGV[1 to 3] as in writeUnderLease-4.lua; KEYS[4] waiting jobs, KEYS[5] jobs, KEYS[6] queue, KEYS[7] cancelled jobs
-- KEYS[8] replaced runs
-- ARGV[4] tenant, ARGV[5] JSON of the ended job; '': there is none
-- Returns 1, or -1 when the lease is another's.
local call = redis.call
if not holdsShare() then
  return -1
end
-- The deletion of the tenant may have removed it.
if ARGV[5] ~= '' and call('HEXISTS', KEYS[5], ARGV[4]) == 1 then
  call('HSET', KEYS[5], ARGV[4], ARGV[5])
end
call('HDEL', KEYS[7], ARGV[4])
call('HDEL', KEYS[8], ARGV[4])
if call('HEXISTS', KEYS[4], ARGV[4]) == 0 then
  call('ZREM', KEYS[6], ARGV[4])
end
return 1
