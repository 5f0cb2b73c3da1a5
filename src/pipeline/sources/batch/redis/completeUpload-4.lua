-- Turns an upload into a queued job. May be repeated.
-- KEYS[1] upload, KEYS[2] chunks, KEYS[3] job, KEYS[4] receipt
-- ARGV[1] number of chunks, ARGV[2] prefix of the keys of their lines, in the same slot, ARGV[3] 1 to leave a receipt, else 0
-- then fields and values of the job's record
-- Returns 1; 0 when the upload has expired; 3 when Redis has lost one of its chunks.
if redis.call('EXISTS', KEYS[3], KEYS[4]) > 0 then
  return 1
end
if redis.call('EXISTS', KEYS[1]) == 0 then
  return 0
end
if redis.call('XLEN', KEYS[2]) ~= tonumber(ARGV[1]) then
  return 3
end
for number = 1, ARGV[1] do
  if redis.call('EXISTS', ARGV[2] .. number) == 0 then
    return 3
  end
end
for number = 1, ARGV[1] do
  redis.call('PERSIST', ARGV[2] .. number)
end
redis.call('DEL', KEYS[1])
redis.call('PERSIST', KEYS[2])
redis.call('HSET', KEYS[3], unpack(ARGV, 4))
if ARGV[3] == '1' then
  redis.call('SET', KEYS[4], '')
end
return 1
