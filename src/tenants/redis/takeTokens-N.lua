#!lua flags=allow-oom
-- Takes tokens from counters, request by request in order: all tokens of a request, or none. Then reserves some of the rest
-- for the calling process. Runs above maxmemory too, because it needs only a few bytes per tenant.
-- A bucket fills at a rate, by Redis' clock. A window counts tokens up to its size and never fills.
-- KEYS[i] counter. A bucket: "<millionths of tokens> <microseconds of the last change>"; a missing one is full.
--   A window: "<tokens taken>". Then, for both, the reservations: " <name> <tokens> <end>". A key may occur more than once.
-- ARGV for each counter: size in tokens; tokens per second, 0 for a window; milliseconds to keep a window; then the
--   ReservationChange: ended, returned, kept, name, wanted; number of runs; and for each run: requests, tokens of each
-- Returns for each counter the TokenGrant: left (of a bucket in thousandths), more, kept, othersHold; and for each run the
--   number of granted requests, which are its first.

-- After this time a reservation counts as given out. No process spends its tokens later.
local RESERVED_MICROS = 3000000
-- A reservation gets at most this part of the remaining tokens.
local SHARE = 16
local MILLION = 1000000

local time = redis.call('TIME')
local now = tonumber(time[1]) * MILLION + tonumber(time[2])

local at = 0
local function nextNumber()
  at = at + 1
  return tonumber(ARGV[at])
end
local function nextText()
  at = at + 1
  return ARGV[at]
end

-- Reads reservations. Leaves out expired ones and the one that ends.
local function readReservations(text, ended, returned, keep)
  local all = { texts = {}, others = 0, over = 0, overAt = 0, own = 0, returned = 0, kept = 0 }
  for name, size, till in string.gmatch(text, '(%S+) (%d+) (%d+)') do
    -- A reservation must not last longer when Redis' clock is set back.
    size, till = tonumber(size), math.min(tonumber(till), now + RESERVED_MICROS)
    if till <= now then
      all.over, all.overAt = all.over + size, math.max(all.overAt, till)
    elseif name == ended then
      all.own, all.returned = size, math.min(size, returned)
      all.kept = math.min(size - all.returned, keep)
    else
      all.texts[#all.texts + 1] = string.format('%s %.0f %.0f', name, size, till)
      all.others = all.others + size
    end
  end
  return all
end

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

local reply = {}
for _, key in ipairs(KEYS) do
  local size, rate, keptMs = nextNumber(), nextNumber(), nextNumber()
  local isBucket = rate > 0
  local state = redis.call('GET', key)
  local first, second, rest = string.match(state or '', isBucket and '^(%d+) (%d+)(.*)$' or '^(%d+)()(.*)$')
  local reserved = readReservations(rest or '', nextText(), nextNumber(), nextNumber())
  -- In millionths for a bucket.
  local unit, tokens = 1, size - (tonumber(first) or 0) + reserved.returned
  if isBucket then
    unit, tokens = MILLION, size * MILLION
    if state then tokens = fillBucket(tonumber(first), tonumber(second), tokens, rate, reserved) end
  end
  local name, wanted = nextText(), nextNumber()
  local head = #reply
  for run = 1, nextNumber() do
    local requests, each = nextNumber(), nextNumber()
    local room = each > 0 and math.floor(tokens / unit / each) or (tokens >= 0 and requests or 0)
    local granted = math.max(0, math.min(requests, room))
    tokens = tokens - granted * each * unit
    if granted < requests then wanted = 0 end
    reply[head + 4 + run] = granted
  end
  local more = math.max(0, math.min(wanted, math.floor(tokens / unit / SHARE)))
  tokens = tokens - more * unit
  if reserved.kept + more > 0 then
    local till = now + RESERVED_MICROS
    reserved.texts[#reserved.texts + 1] = string.format('%s %.0f %.0f', name, reserved.kept + more, till)
  end
  reply[head + 1] = isBucket and math.floor(tokens / 1000) or tokens
  reply[head + 2], reply[head + 3], reply[head + 4] = more, reserved.kept, reserved.others

  local used = size * unit - tokens
  local ttlMs = used > 0 and keptMs or 0
  if isBucket then ttlMs = math.ceil(used / rate / 1000) + (#reserved.texts > 0 and RESERVED_MICROS / 1000 or 0) end
  local text = isBucket and string.format('%.0f %.0f', tokens, now) or string.format('%.0f', used)
  text = table.concat({ text, unpack(reserved.texts) }, ' ')
  if ttlMs > 0 and text ~= state then
    redis.call('SET', key, text, 'PX', ttlMs)
  elseif ttlMs <= 0 and state then
    redis.call('DEL', key)
  end
end
return reply
