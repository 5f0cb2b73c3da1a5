#!lua flags=allow-oom
-- Records that a chunk was fed, and frees it. Changes nothing when repeated, or after the end of the job.
-- Runs above maxmemory too: it drains Redis, and intake has stopped well below.
-- KEYS[1] job, KEYS[2] chunks, KEYS[3] errors, KEYS[4] the lines of the chunk, KEYS[5] rejected lines
-- ARGV[1] number of the chunk; ARGV[2] most errors to keep, ARGV[3] most reasons, ARGV[4] most line numbers of each
-- ARGV[5] most rejected lines to keep, ARGV[6] most bytes of them, ARGV[7] milliseconds to keep them should no feeder end the job
-- ARGV[8] number of counters, then a field and an increment for each; then the number of reasons, and for each the reason ('' for
-- all others), its count of lines, and its first lines separated by commas; then the number of parts of rejected lines, and for each its
-- number of lines and its bytes; then errors as JSON
-- Returns 1; 0 when the chunk was recorded before; -1 when the job has ended.
local status = redis.call('HGET', KEYS[1], 'status')
if status ~= 'queued' and status ~= 'running' then
  return -1
end
if redis.call('HGET', KEYS[1], 'next') ~= ARGV[1] then
  return 0
end
redis.call('HSET', KEYS[1], 'next', tonumber(ARGV[1]) + 1, 'status', 'running')
local time = redis.call('TIME')
redis.call('HSETNX', KEYS[1], 'started_at', string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000)))
local at = 9
for _ = 1, tonumber(ARGV[8]) do
  redis.call('HINCRBY', KEYS[1], ARGV[at], ARGV[at + 1])
  at = at + 2
end

-- The first reasons get a field each. A later reason counts under 'rejected:' forever, so that each count is exact.
local function fieldOf(reason)
  local field = 'rejected:' .. reason
  if reason == '' or redis.call('HEXISTS', KEYS[1], field) == 1 then
    return field
  end
  if tonumber(redis.call('HGET', KEYS[1], 'reasons') or 0) >= tonumber(ARGV[3]) then
    return 'rejected:'
  end
  redis.call('HINCRBY', KEYS[1], 'reasons', 1)
  return field
end

local function firstOf(lines)
  local numbers = {}
  for line in string.gmatch(lines, '%d+') do
    numbers[#numbers + 1] = tonumber(line)
  end
  table.sort(numbers)
  return table.concat(numbers, ',', 1, math.min(#numbers, tonumber(ARGV[4])))
end

local reasons = tonumber(ARGV[at])
at = at + 1
for _ = 1, reasons do
  local field = fieldOf(ARGV[at])
  local count, lines = string.match(redis.call('HGET', KEYS[1], field) or '0 ', '^(%d+) (.*)$')
  local sum = string.format('%.0f', tonumber(count) + tonumber(ARGV[at + 1]))
  redis.call('HSET', KEYS[1], field, sum .. ' ' .. firstOf(lines .. ',' .. ARGV[at + 2]))
  at = at + 3
end

-- Once a part does not fit, no later one is kept: the kept lines are always the first ones.
local function keep(lines, part)
  local found = redis.call('HMGET', KEYS[1], 'kept_lines', 'kept_bytes', 'is_cut')
  local isOver = (tonumber(found[1]) or 0) + lines > tonumber(ARGV[5]) or (tonumber(found[2]) or 0) + #part > tonumber(ARGV[6])
  if found[3] or isOver then
    redis.call('HSET', KEYS[1], 'is_cut', 1)
    return
  end
  redis.call('HINCRBY', KEYS[1], 'kept_lines', lines)
  redis.call('HINCRBY', KEYS[1], 'kept_parts', 1)
  redis.call('HINCRBY', KEYS[1], 'kept_bytes', #part)
  redis.call('RPUSH', KEYS[5], part)
  redis.call('PEXPIRE', KEYS[5], ARGV[7])
end

local parts = tonumber(ARGV[at])
at = at + 1
for _ = 1, parts do
  keep(tonumber(ARGV[at]), ARGV[at + 1])
  at = at + 2
end

local room = tonumber(ARGV[2]) - redis.call('LLEN', KEYS[3])
for i = at, math.min(#ARGV, at + room - 1) do
  redis.call('RPUSH', KEYS[3], ARGV[i])
end
redis.call('XDEL', KEYS[2], ARGV[1] .. '-0')
redis.call('UNLINK', KEYS[4])
return 1
