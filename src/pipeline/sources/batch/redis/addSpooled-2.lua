-- Notes how many bytes an upload has spooled so far. They count until its job has ended.
-- KEYS[1] open jobs of the tenant, KEYS[2] spooled bytes of the tenant's open jobs
-- ARGV[1] job, ARGV[2] its bytes
-- Returns the bytes of all open jobs of the tenant; -1 when the job is not open any more.
if redis.call('SISMEMBER', KEYS[1], ARGV[1]) == 0 then
  return -1
end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
local sum = 0
for _, bytes in ipairs(redis.call('HVALS', KEYS[2])) do
  sum = sum + tonumber(bytes)
end
return sum
