#!lua flags=allow-oom
-- Frees the chunks of a job or an upload, fed or not. May be repeated.
-- Runs above maxmemory too: it frees memory.
-- KEYS[1] job, KEYS[2] chunks
-- ARGV[1] prefix of the keys of their lines, in the same slot, ARGV[2] 'with record' to delete the job's record too
-- Returns 1 when it deleted a record, else 0.
-- Without a record (an upload, or an old job), the stream tells the number of chunks: it keeps its last id even when empty.
local chunks = tonumber(redis.call('HGET', KEYS[1], 'chunks') or 0)
if redis.call('EXISTS', KEYS[2]) == 1 then
  local facts = redis.call('XINFO', 'STREAM', KEYS[2])
  for i = 1, #facts, 2 do
    if facts[i] == 'last-generated-id' then
      chunks = math.max(chunks, tonumber(string.match(facts[i + 1], '^%d+')))
    end
  end
end
for number = 1, chunks do
  redis.call('UNLINK', ARGV[1] .. number)
end
redis.call('UNLINK', KEYS[2])
return ARGV[2] == 'with record' and redis.call('DEL', KEYS[1]) or 0
