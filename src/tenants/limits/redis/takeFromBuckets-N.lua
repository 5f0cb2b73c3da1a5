#!lua flags=allow-oom
-- Takes tokens from buckets, which fill at a rate, by Redis' clock.
-- KEYS[i] "<millionths of tokens> <microseconds of the last change>", then reservations; a missing one is full. A key may occur more
--   than once.
-- ARGV for each key: size in tokens; tokens per second; then as in tokens.lua
-- Returns as in tokens.lua, `left` in thousandths.

-- When Redis' clock is set back, nothing flows in.
local function fill(millionths, micros, rate, room)
  return math.max(0, math.min(room, math.floor(millionths + math.max(0, micros) * rate)))
end

-- Bucket and reservations together never hold more than the size, so reserved tokens leave no room for new ones.
local function fillBucket(held, since, size, rate, reserved)
  local room = size - (reserved.others + reserved.own) * MILLION
  local till = reserved.over > 0 and math.max(since, reserved.overAt) or now
  held = fill(held, till - since, rate, room - reserved.over * MILLION)
  held = fill(held, now - till, rate, room)
  -- The plan may have a smaller size now.
  return fill(held + reserved.returned * MILLION, 0, rate, size - (reserved.others + reserved.kept) * MILLION)
end

for _, key in ipairs(KEYS) do
  local size, rate = nextNumber() * MILLION, nextNumber()
  local state = redis.call('GET', key)
  local held, since, rest = string.match(state or '', '^(%d+) (%d+)(.*)$')
  local reserved = readReservations(rest)
  local tokens = size
  if held then tokens = fillBucket(tonumber(held), tonumber(since), size, rate, reserved) end
  tokens = grant(tokens, MILLION, 1000, reserved)
  local reservedMs = #reserved.texts > 0 and RESERVED_MICROS / 1000 or 0
  local ttlMs = math.ceil((size - tokens) / rate / 1000) + reservedMs
  write(key, state, string.format('%.0f %.0f', tokens, now), reserved, ttlMs)
end
return reply
