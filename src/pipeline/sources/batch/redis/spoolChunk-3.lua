-- Adds a chunk to an upload. The same transaction has just set its lines, with an expiry. May be repeated, even after the end of
-- the upload.
-- KEYS[1] upload: the number of its last chunk, KEYS[2] chunks, KEYS[3] the lines of the chunk
-- ARGV[1] milliseconds after which the upload counts as dead, ARGV[2] number of the chunk, ARGV[3] its line numbers
-- Returns 1; 0 when the upload has expired; 2 when the chunk before it is missing; 3 when its lines are missing.
local last = tonumber(redis.call('GET', KEYS[1]))
local number = tonumber(ARGV[2])
if not last then
  return 0
end
if last < number - 1 then
  return 2
end
if redis.call('EXISTS', KEYS[3]) == 0 then
  return 3
end
if last < number then
  redis.call('XADD', KEYS[2], ARGV[2] .. '-0', 'l', ARGV[3])
  redis.call('SET', KEYS[1], ARGV[2])
end
for _, key in ipairs(KEYS) do
  redis.call('PEXPIRE', key, ARGV[1])
end
return 1
