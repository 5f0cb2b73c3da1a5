#!lua flags=allow-oom
-- Takes tokens from buckets by Redis' clock: of each as many as are wanted and there.
-- Runs above maxmemory too: it takes a few bytes a tenant, and what needs more is refused by itself.
-- KEYS[i] bucket: "<millionths of tokens> <microseconds at which it held them>"; one that is not there is full. The same
--   bucket may be named more than once
-- ARGV[3i-2] tokens that flow in per second, ARGV[3i-1] size of the bucket, ARGV[3i] tokens wanted
-- Returns for each bucket the tokens taken, and the tokens left in thousandths.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local reply = {}
for i, key in ipairs(KEYS) do
  local rate, burst, wanted = tonumber(ARGV[3 * i - 2]), tonumber(ARGV[3 * i - 1]) * 1000000, tonumber(ARGV[3 * i])
  local tokens = burst
  local state = redis.call('GET', key)
  if state then
    local held, at = string.match(state, '^(%d+) (%d+)$')
    -- A clock that was set back gives nothing and takes nothing.
    tokens = math.min(burst, math.floor(tonumber(held) + math.max(0, now - tonumber(at)) * rate))
  end
  local granted = math.min(wanted, math.floor(tokens / 1000000))
  tokens = tokens - granted * 1000000
  local fullInMs = math.ceil((burst - tokens) / rate / 1000)
  if fullInMs > 0 then
    redis.call('SET', key, string.format('%.0f %.0f', tokens, now), 'PX', fullInMs)
  end
  reply[2 * i - 1] = granted
  reply[2 * i] = math.floor(tokens / 1000)
end
return reply
