-- Keeps a chunk of an upload's lines. Repeating a chunk changes nothing.
-- KEYS[1] upload: the number of its last chunk, KEYS[2] chunks
-- ARGV[1] milliseconds after which the upload counts as dead, ARGV[2] number of the chunk, ARGV[3] where its
-- lines stand in the upload, ARGV[4] its bytes
-- Returns 1; 0 when the upload is not there any more; 2 when the chunk before it is not there yet.
local last = tonumber(redis.call('GET', KEYS[1]))
local number = tonumber(ARGV[2])
if not last then
  return 0
end
if last < number - 1 then
  return 2
end
if last < number then
  redis.call('XADD', KEYS[2], ARGV[2] .. '-0', 'l', ARGV[3], 'b', ARGV[4])
  redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[1])
  redis.call('PEXPIRE', KEYS[2], ARGV[1])
end
return 1
