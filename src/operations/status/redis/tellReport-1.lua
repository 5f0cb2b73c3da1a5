#!lua flags=allow-oom
-- Keeps what a process tells of itself, and forgets what was told too long ago.
-- Runs above maxmemory too: that is when somebody looks.
-- KEYS[1] reports
-- ARGV[1] process, ARGV[2] milliseconds of now, ARGV[3] JSON, ARGV[4] milliseconds before which a report is forgotten; ''
-- leaves all
-- Returns 1.
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2] .. ' ' .. ARGV[3])
if ARGV[4] ~= '' then
  local all = redis.call('HGETALL', KEYS[1])
  for i = 1, #all, 2 do
    local told = tonumber(string.match(all[i + 1], '^%d+'))
    if not told or told < tonumber(ARGV[4]) then
      redis.call('HDEL', KEYS[1], all[i])
    end
  end
end
return 1
