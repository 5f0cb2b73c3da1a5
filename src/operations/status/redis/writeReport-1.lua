#!lua flags=allow-oom
-- Writes the report of a process with the time of this server, which all processes share, and removes old reports.
-- Runs above maxmemory too, because that is when operators need the status.
-- KEYS[1] reports
-- ARGV[1] process, ARGV[2] JSON, ARGV[3] remove reports older than this many milliseconds; '': remove none
-- Returns 1.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f ', now) .. ARGV[2])
if ARGV[3] ~= '' then
  local all = redis.call('HGETALL', KEYS[1])
  for i = 1, #all, 2 do
    local writtenAt = tonumber(string.match(all[i + 1], '^%d+'))
    if not writtenAt or writtenAt < now - tonumber(ARGV[3]) then
      redis.call('HDEL', KEYS[1], all[i])
    end
  end
end
return 1
