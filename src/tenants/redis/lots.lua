-- Lots: what processes hold of a counter, to give it out without asking. The text is "<name> <size> <end>" for each, with a
-- space between them; behind its end, in microseconds by Redis' clock, a lot counts as given out. No process does so later.
local LOT_MICROS = 3000000
-- A lot is at most this part of what is left.
local LOT_SHARE = 16

-- Settles the lots of a text. `back` names the one that is given back: of it `unspent` returns, and `keep` stays in the hands of
-- its holder, as part of a new one. Both count if it is there.
local function settleLots(text, now, back, unspent, keep)
  local lots = { texts = {}, held = 0, ended = 0, endedAt = 0, own = 0, returned = 0, kept = 0 }
  for name, size, till in string.gmatch(text, '(%S+) (%d+) (%d+)') do
    -- A clock that was set back lets no lot last longer.
    size, till = tonumber(size), math.min(tonumber(till), now + LOT_MICROS)
    if till <= now then
      lots.ended, lots.endedAt = lots.ended + size, math.max(lots.endedAt, till)
    elseif name == back then
      lots.own, lots.returned = size, math.min(size, unspent)
      lots.kept = math.min(size - lots.returned, keep)
    else
      lots.texts[#lots.texts + 1] = string.format('%s %.0f %.0f', name, size, till)
      lots.held = lots.held + size
    end
  end
  return lots
end

-- Makes the new lot of what is kept and, of what is left, at most as much as is wanted. Returns the latter.
local function addLot(lots, name, wanted, left, now)
  local more = math.max(0, math.min(wanted, math.floor(left / LOT_SHARE)))
  local size = lots.kept + more
  if size > 0 then lots.texts[#lots.texts + 1] = string.format('%s %.0f %.0f', name, size, now + LOT_MICROS) end
  return more
end
