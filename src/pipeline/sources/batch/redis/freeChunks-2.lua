#!lua flags=allow-oom
-- Frees the chunks of a job or an upload, fed or not. Repeating it changes nothing.
-- Runs above maxmemory too: it frees memory.
-- KEYS[1] job, KEYS[2] chunks
-- ARGV[1] prefix of the keys of their lines, in the same slot, ARGV[2] 'with record' when that of the job goes as well
-- Returns 1 when a record went, else 0.
-- An upload has no record yet, and that of an old job may be gone; the stream knows its last number also when it is empty.
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
