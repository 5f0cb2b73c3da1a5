-- Turns an upload into a queued job. Repeating it changes nothing.
-- KEYS[1] upload, KEYS[2] chunks, KEYS[3] job
-- ARGV fields and values of the job's record
-- Returns 1, or 0 when the upload is not there any more.
if redis.call('EXISTS', KEYS[3]) == 1 then
  return 1
end
if redis.call('DEL', KEYS[1]) == 0 then
  return 0
end
redis.call('PERSIST', KEYS[2])
redis.call('HSET', KEYS[3], unpack(ARGV))
return 1
