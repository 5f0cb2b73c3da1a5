#!lua flags=allow-oom
-- Adds a dead letter behind those that a copy has, unless it has it: letters come in the order of their ids.
-- Runs above maxmemory too: the letter leaves its old place.
-- KEYS[1] copy of a stream of dead letters
-- ARGV[1] id of the letter, ARGV[2..] its fields
-- Returns 1, or 0 when it is there already.
local function isAfter(id, other)
  local ms, number = string.match(id, '^(%d+)-(%d+)$')
  local otherMs, otherNumber = string.match(other, '^(%d+)-(%d+)$')
  local function compared(a, b)
    return #a == #b and (a > b and 1 or a < b and -1 or 0) or #a - #b
  end
  local byMs = compared(ms, otherMs)
  return byMs > 0 or (byMs == 0 and compared(number, otherNumber) > 0)
end

local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
if last and not isAfter(ARGV[1], last[1]) then
  return 0
end
redis.call('XADD', KEYS[1], ARGV[1], unpack(ARGV, 2))
return 1
