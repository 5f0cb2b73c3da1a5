#!lua flags=allow-oom
-- Ends a member's place among those who share a lease; its shares are free, and with the last member the lease.
-- Runs above maxmemory too: it is what drains Redis, and intake has stopped well below.
-- KEYS[1] owner of the lease: while it is shared, how; KEYS[2] members: sorted set, until when, ms; KEYS[3] hash: share → member
-- ARGV[1] member
-- Returns 1, or 0 when it was no member.
if redis.call('ZREM', KEYS[2], ARGV[1]) == 0 then
  return 0
end
if redis.call('ZCARD', KEYS[2]) == 0 then
  redis.call('DEL', KEYS[1], KEYS[2], KEYS[3])
end
return 1
