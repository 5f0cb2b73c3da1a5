-- Keeps a chunk of an upload's lines. Repeating a chunk changes nothing.
-- KEYS[1] upload, KEYS[2] chunks
-- ARGV[1] milliseconds after which the upload counts as dead, ARGV[2] number of the chunk, ARGV[3] its first line,
-- ARGV[4] its bytes
-- Returns 1; 0 when the upload is not there any more; 2 when the chunk before it is not there yet.
if redis.call('PEXPIRE', KEYS[1], ARGV[1]) == 0 then
  return 0
end
local last = redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 1)[1]
local number = last and tonumber(string.match(last[1], '^%d+')) or 0
if number < tonumber(ARGV[2]) - 1 then
  return 2
end
if number < tonumber(ARGV[2]) then
  redis.call('XADD', KEYS[2], ARGV[2] .. '-0', 'l', ARGV[3], 'b', ARGV[4])
end
redis.call('PEXPIRE', KEYS[2], ARGV[1])
return 1
