#!lua flags=allow-oom
-- Takes or renews a lease.
-- Runs above maxmemory too: it is what drains Redis, and intake has stopped well below.
-- KEYS[1] owner, KEYS[2] token counter
-- ARGV[1] who asks, ARGV[2] milliseconds until the lease ends unless it is renewed
-- ARGV[3] how an owner begins that has ended for sure when somebody asks in its place, or ''
-- Returns the fencing token of the asker's lease, or 0 when another one holds it.
local owner = redis.call('GET', KEYS[1])
if owner == ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return tonumber(redis.call('GET', KEYS[2]))
end
if owner and (ARGV[3] == '' or string.sub(owner, 1, #ARGV[3]) ~= ARGV[3]) then
  -- The clock was set back since: nobody may hold it for longer than a renewal gives.
  if redis.call('PTTL', KEYS[1]) > tonumber(ARGV[2]) then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
  end
  return 0
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return redis.call('INCR', KEYS[2])
