#!lua flags=allow-oom
-- Takes tokens from a bucket by Redis' clock: as many as are wanted and there.
-- Runs above maxmemory too: it takes a few bytes a tenant, and what needs more is refused by itself.
-- KEYS[1] bucket: "<millionths of tokens> <microseconds at which it held them>"; one that is not there is full
-- ARGV[1] tokens that flow in per second, ARGV[2] size of the bucket, ARGV[3] tokens wanted
-- Returns the tokens taken, and the tokens left in thousandths.
local rate, burst, wanted = tonumber(ARGV[1]), tonumber(ARGV[2]) * 1000000, tonumber(ARGV[3])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local tokens = burst
local state = redis.call('GET', KEYS[1])
if state then
  local held, at = string.match(state, '^(%d+) (%d+)$')
  -- A clock that was set back gives nothing and takes nothing.
  tokens = math.min(burst, math.floor(tonumber(held) + math.max(0, now - tonumber(at)) * rate))
end
local granted = math.min(wanted, math.floor(tokens / 1000000))
tokens = tokens - granted * 1000000
local fullInMs = math.ceil((burst - tokens) / rate / 1000)
if fullInMs > 0 then
  redis.call('SET', KEYS[1], string.format('%.0f %.0f', tokens, now), 'PX', fullInMs)
end
return { granted, math.floor(tokens / 1000) }
