#!lua flags=allow-oom
-- Takes tokens from windows, which count up to their size.
-- KEYS[i] "<tokens taken>", then reservations; a missing one is 0. A key may occur more than once.
-- ARGV for each key: size in tokens; milliseconds to keep it; then as in tokens.lua
-- Returns as in tokens.lua.

for _, key in ipairs(KEYS) do
  local size, keptMs = nextNumber(), nextNumber()
  local state = redis.call('GET', key)
  local used, rest = string.match(state or '', '^(%d+)(.*)$')
  local reserved = readReservations(rest)
  used = size - grant(size - (tonumber(used) or 0) + reserved.returned, 1, 1, reserved)
  write(key, state, string.format('%.0f', used), reserved, used > 0 and keptMs or 0)
end
return reply
