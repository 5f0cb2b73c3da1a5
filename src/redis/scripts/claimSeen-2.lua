#!lua flags=allow-oom
-- Claims identities for a block and tells which belong to another block already, within the dedup window. A consumer that
-- was held up until another one settled its entry claims nothing: nobody would keep the event.
-- Runs above maxmemory too: it is what drains Redis, and intake has stopped well below.
-- KEYS[1] prefix of the bucket keys of the block's generation; all other keys are built from prefixes, in the same slot
-- KEYS[2] stream of the block's entry
-- ARGV[1] owner: 8 bytes, of which the first 41 bits are the block's milliseconds since 2024-01-01 UTC
-- ARGV[2] the earliest milliseconds (since 2024-01-01) at which another owner still counts
-- ARGV[3] mask of the bucket number (buckets - 1)
-- ARGV[4] Unix milliseconds at which keys of the block's generation expire
-- ARGV[5] identities of 16 bytes, one behind the other
-- ARGV[6] consumer group, ARGV[7] the block's entry
-- ARGV[8..] prefixes of the other generations that may hold owners that count
-- Returns the positions (from 0) of the identities that another block owns; nil when the entry is not pending.
local byte, sub, call = string.byte, string.sub, redis.call
local current = KEYS[1]
local owner = ARGV[1]
local earliest = tonumber(ARGV[2])
local mask = tonumber(ARGV[3])
local identities = ARGV[5]

if #call('XPENDING', KEYS[2], ARGV[6], ARGV[7], ARGV[7], 1) == 0 then
  return nil
end

local function counts(other)
  local a, b, c, d, e, f = byte(other, 1, 6)
  local ms = math.floor((((((a * 256 + b) * 256 + c) * 256 + d) * 256 + e) * 256 + f) / 128)
  return ms >= earliest
end

-- A marker per generation saves the look into generations that hold nothing.
if call('SETNX', current .. 'm', '') == 1 then
  call('PEXPIREAT', current .. 'm', ARGV[4])
end
local others = {}
for g = 8, #ARGV do
  if call('EXISTS', ARGV[g] .. 'm') == 1 then
    others[#others + 1] = ARGV[g]
  end
end

local function ownedElsewhere(bucket, field)
  for g = 1, #others do
    local other = call('HGET', others[g] .. bucket, field)
    if other and counts(other) then
      return true
    end
  end
  return false
end

local repeats = {}
local taken = 0
for i = 0, #identities / 16 - 1 do
  local at = i * 16
  local a, b, c = byte(identities, at + 14, at + 16)
  local bucket = bit.band(a * 65536 + b * 256 + c, mask)
  local field = sub(identities, at + 1, at + 16)
  local key = current .. bucket
  if call('HSETNX', key, field, owner) == 1 then
    taken = taken + 1
    if #others > 0 and ownedElsewhere(bucket, field) then
      call('HDEL', key, field)
      taken = taken - 1
      repeats[#repeats + 1] = i
    elseif call('HLEN', key) == 1 then
      call('PEXPIREAT', key, ARGV[4])
    end
  else
    local other = call('HGET', key, field)
    if other ~= owner and counts(other) then
      repeats[#repeats + 1] = i
    elseif other ~= owner then
      call('HSET', key, field, owner)
    end
  end
end
-- How many a generation has, for whoever looks after memory.
if taken > 0 and call('INCRBY', current .. 'n', taken) == taken then
  call('PEXPIREAT', current .. 'n', ARGV[4])
end
return repeats
