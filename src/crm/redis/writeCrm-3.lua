-- Connects a tenant to a CRM anew, or ends its connection. The results of the connection before are forgotten.
-- KEYS[1] connections, KEYS[2] states, KEYS[3] requests
-- ARGV[1] tenant id, ARGV[2] JSON of the connection; '': ends it
-- Returns 1, or 0 when there was no connection to end.
redis.call('HDEL', KEYS[2], ARGV[1])
redis.call('HDEL', KEYS[3], ARGV[1])
if ARGV[2] == '' then
  return redis.call('HDEL', KEYS[1], ARGV[1])
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 1
