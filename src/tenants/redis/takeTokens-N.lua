#!lua flags=allow-oom
-- Takes tokens from buckets by Redis' clock: of each as many as are wanted and there, and lots of what is left.
-- Runs above maxmemory too: it takes a few bytes a tenant, and what needs more is refused by itself.
-- KEYS[i] bucket: "<millionths of tokens> <microseconds at which it held them>" and its lots; one that is not there is
--   full. The same bucket may be named more than once
-- ARGV for each bucket: tokens that flow in per second, size of the bucket, tokens wanted, name of the lot that is given
--   back, what of it returns, what of it is kept, name of a new lot, tokens wanted for that beside what is kept
-- Returns for each bucket the tokens taken, the tokens left in thousandths, what the new lot got, what was kept, and the
--   tokens in lots of others.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])

-- A clock that was set back gives nothing and takes nothing.
local function fill(tokens, micros, rate, room)
  return math.max(0, math.min(room, math.floor(tokens + math.max(0, micros) * rate)))
end

local reply = {}
for i, key in ipairs(KEYS) do
  local at = 8 * i - 7
  local rate, burst, wanted = tonumber(ARGV[at]), tonumber(ARGV[at + 1]) * 1000000, tonumber(ARGV[at + 2])
  local tokens, lots = burst, settleLots('', now, '', 0, 0)
  local state = redis.call('GET', key)
  if state then
    local held, since, rest = string.match(state, '^(%d+) (%d+)(.*)$')
    since = tonumber(since)
    lots = settleLots(rest, now, ARGV[at + 3], tonumber(ARGV[at + 4]), tonumber(ARGV[at + 5]))
    -- Bucket and lots together never hold more than the bucket's size, so what is in lots leaves no room.
    local room = burst - (lots.held + lots.own) * 1000000
    local till = lots.ended > 0 and math.max(since, lots.endedAt) or now
    tokens = fill(tonumber(held), till - since, rate, room - lots.ended * 1000000)
    tokens = fill(tokens, now - till, rate, room)
    -- A smaller plan may have come meanwhile.
    tokens = fill(tokens + lots.returned * 1000000, 0, rate, burst - (lots.held + lots.kept) * 1000000)
  end
  local granted = math.min(wanted, math.floor(tokens / 1000000))
  tokens = tokens - granted * 1000000
  local more = granted == wanted and tonumber(ARGV[at + 7]) or 0
  more = addLot(lots, ARGV[at + 6], more, tokens / 1000000, now)
  tokens = tokens - more * 1000000
  local fullInMs = math.ceil((burst - tokens) / rate / 1000)
  if #lots.texts > 0 then fullInMs = fullInMs + LOT_MICROS / 1000 end
  if fullInMs > 0 then
    local held = string.format('%.0f %.0f', tokens, now)
    redis.call('SET', key, table.concat({ held, unpack(lots.texts) }, ' '), 'PX', fullInMs)
  elseif state then
    redis.call('DEL', key)
  end
  reply[5 * i - 4] = granted
  reply[5 * i - 3] = math.floor(tokens / 1000)
  reply[5 * i - 2] = more
  reply[5 * i - 1] = lots.kept
  reply[5 * i] = lots.held
end
return reply
