-- Judges a chunk of an upload's lines that was added right before, in the same transaction, or was refused because a later one is
-- there: it stays, or is taken back. Repeating a chunk changes nothing.
-- KEYS[1] upload: the number of its last chunk, KEYS[2] chunks
-- ARGV[1] milliseconds after which the upload counts as dead, ARGV[2] number of the chunk, ARGV[3] its id: the number, and that
-- of the try, so that no other one added it
-- Returns 1; 0 when the upload is not there any more; 2 when the chunk before it is not there yet.
local last = tonumber(redis.call('GET', KEYS[1]))
local number = tonumber(ARGV[2])
if last == number - 1 then
  redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[1])
  redis.call('PEXPIRE', KEYS[2], ARGV[1])
  return 1
end
redis.call('XDEL', KEYS[2], ARGV[3])
if not last then
  if redis.call('XLEN', KEYS[2]) == 0 then
    redis.call('DEL', KEYS[2])
  end
  return 0
end
redis.call('PEXPIRE', KEYS[2], ARGV[1])
if last >= number then
  return 1
end
-- Else those between would come too late.
redis.call('XSETID', KEYS[2], last .. '-18446744073709551615')
return 2
