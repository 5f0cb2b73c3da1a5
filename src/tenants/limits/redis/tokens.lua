-- What the scripts that take tokens share. They take them request by request in order: all tokens of a request, or none. Then they
-- reserve some of the rest for the calling process. They run above maxmemory too, because they need only a few bytes per tenant.
-- A reservation in a value: " <name> <tokens> <end in microseconds>".
-- ARGV at the end of each key: the ReservationChange: ended, returned, kept, name, wanted; number of runs; and for each run: requests,
--   tokens of each
-- Returns for each key the TokenGrant: left, more, kept, othersHold; and for each run the number of granted requests, which are its first.

-- After this time a reservation counts as given out. No process spends its tokens later.
local RESERVED_MICROS = 3000000
-- A reservation gets at most this part of the remaining tokens.
local SHARE = 16
local MILLION = 1000000

local time = redis.call('TIME')
local now = tonumber(time[1]) * MILLION + tonumber(time[2])
local reply = {}

local at = 0
local function nextText()
  at = at + 1
  return ARGV[at]
end
local function nextNumber()
  return tonumber(nextText())
end

-- Reads the reservations of a value. Leaves out expired ones and the one that ends.
local function readReservations(text)
  local ended, returned, keep = nextText(), nextNumber(), nextNumber()
  local all = { texts = {}, others = 0, over = 0, overAt = 0, own = 0, returned = 0, kept = 0 }
  for name, size, till in string.gmatch(text or '', '(%S+) (%d+) (%d+)') do
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

-- Grants requests and reserves. Returns the rest. `unit` of `tokens` are a token, `leftUnit` of them are 1 in the reply.
local function grant(tokens, unit, leftUnit, reserved)
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
  reply[head + 1] = math.floor(tokens / leftUnit)
  reply[head + 2], reply[head + 3], reply[head + 4] = more, reserved.kept, reserved.others
  return tokens
end

-- Replaces the value `state` of a key; 0 ms: deletes it.
local function write(key, state, tokens, reserved, ttlMs)
  local text = table.concat({ tokens, unpack(reserved.texts) }, ' ')
  if ttlMs > 0 and text ~= state then
    redis.call('SET', key, text, 'PX', ttlMs)
  elseif ttlMs <= 0 and state then
    redis.call('DEL', key)
  end
end
