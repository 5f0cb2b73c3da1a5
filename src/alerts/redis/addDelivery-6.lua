-- Adds a message that a person requested: a test, or one to send again.
-- KEYS[1] deliveries of the tenant, KEYS[2] their times, KEYS[3] the queue of the alert, KEYS[4] queues
-- KEYS[5] finished messages, KEYS[6] the queue that it may be in now
-- ARGV[1] id, ARGV[2] JSON, ARGV[3] when it was created, ms, ARGV[4] when it is due, ms, ARGV[5] member of the set of queues
-- ARGV[6] revision that it must have; '' for a new one, ARGV[7] most waiting messages
-- Returns 1; 0 when it has another revision, -3 when the queue is full.
if ARGV[6] ~= '' then
  local json = call('HGET', KEYS[1], ARGV[1])
  if not json or cjson.decode(json).rev ~= tonumber(ARGV[6]) then
    return 0
  end
end
if not call('ZSCORE', KEYS[3], ARGV[1]) and call('ZCARD', KEYS[3]) >= tonumber(ARGV[7]) then
  return -3
end
call('HSET', KEYS[1], ARGV[1], ARGV[2])
call('ZADD', KEYS[2], ARGV[3], ARGV[1])
call('ZADD', KEYS[3], ARGV[4], ARGV[1])
call('SADD', KEYS[4], ARGV[5])
call('ZREM', KEYS[5], ARGV[1])
call('ZREM', KEYS[6], ARGV[1])
return 1
