#!lua flags=allow-oom
-- Writes the report of a process, and removes old reports.
-- Runs above maxmemory too, because that is when operators need the status.
-- KEYS[1] reports
-- ARGV[1] process, ARGV[2] now in milliseconds, ARGV[3] JSON, ARGV[4] remove reports before this time; '': remove none
-- Returns 1.
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2] .. ' ' .. ARGV[3])
if ARGV[4] ~= '' then
  local all = redis.call('HGETALL', KEYS[1])
  for i = 1, #all, 2 do
    local writtenAt = tonumber(string.match(all[i + 1], '^%d+'))
    if not writtenAt or writtenAt < tonumber(ARGV[4]) then
      redis.call('HDEL', KEYS[1], all[i])
    end
  end
end
return 1
