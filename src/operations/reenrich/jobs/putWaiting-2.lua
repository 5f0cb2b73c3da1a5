-- Writes or removes the waiting job of a tenant, unless another request was faster. Running it twice changes nothing more.
-- KEYS[1] waiting jobs, KEYS[2] queue
-- ARGV[1] tenant, ARGV[2] JSON of the waiting job as it was read; '': none, ARGV[3] new JSON; '': none, ARGV[4] time of the request, ms
-- Returns 1, or 0 when the waiting job has changed meanwhile.
local call = redis.call
if (call('HGET', KEYS[1], ARGV[1]) or '') ~= ARGV[2] then
  return 0
end
if ARGV[3] == '' then
  -- The next runner takes the tenant out of the queue.
  call('HDEL', KEYS[1], ARGV[1])
else
  call('HSET', KEYS[1], ARGV[1], ARGV[3])
  call('ZADD', KEYS[2], 'NX', ARGV[4], ARGV[1])
end
return 1
