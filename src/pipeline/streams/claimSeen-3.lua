#!lua flags=allow-oom
-- Claims identities for blocks of one partition, one block after the other. Finds the identities that another block has claimed
-- within the dedup window. Claims nothing for an entry that is not pending: another consumer has settled it, so nothing would keep
-- its events. Running it again for the same claim id finds the same.
-- Runs above maxmemory, because it helps to drain Redis. Intake stops well below.
-- KEYS[1] prefix of the bucket keys of the blocks' generation; all other keys are built from prefixes, in the same slot
-- KEYS[2] stream of the blocks' entries
-- KEYS[3] sorted set: prefixes of the generations by their end, Unix ms
-- ARGV[1] number of digits of a bucket number
-- ARGV[2] end of the blocks' generation, Unix ms
-- ARGV[3] consumer group
-- ARGV[4] number of blocks; then for each block:
--   id of its entry
--   claim id: 8 bytes; the first 41 bits are milliseconds since 2024-01-01 UTC
--   start of the window: claims from before, in ms since 2024-01-01, do not count
--   identities of 16 bytes, concatenated
--   their bucket numbers, concatenated, padded with zeros: formatting a number in Lua costs more than a lookup
-- then prefixes of other generations in which a claim may still count
-- Returns for each block the positions (from 0) of the identities that another block has claimed; nil if its entry is not pending.
local byte, sub, call = string.byte, string.sub, redis.call
local current = KEYS[1]
local digits = tonumber(ARGV[1])
local blocks = tonumber(ARGV[4])
local afterBlocks = 5 + 5 * blocks

-- Usually the entries ascend, and no others are pending between the first and the last. Then one call finds them all.
local found = {}
for _, entry in ipairs(call('XPENDING', KEYS[2], ARGV[3], ARGV[5], ARGV[afterBlocks - 5], blocks)) do
  found[entry[1]] = true
end
local function isPending(entry)
  return found[entry] or #call('XPENDING', KEYS[2], ARGV[3], entry, entry, 1) > 0
end

local function counts(other, earliest)
  local a, b, c, d, e, f = byte(other, 1, 6)
  local ms = math.floor((((((a * 256 + b) * 256 + c) * 256 + d) * 256 + e) * 256 + f) / 128)
  return ms >= earliest
end

local others = {}
for g = afterBlocks, #ARGV do
  if call('EXISTS', ARGV[g] .. 'm') == 1 then
    others[#others + 1] = ARGV[g]
  end
end

local function claimedBefore(bucket, field, earliest)
  for g = 1, #others do
    local other = call('HGET', others[g] .. bucket, field)
    if other and counts(other, earliest) then
      return true
    end
  end
  return false
end

local taken = 0
local function claim(claimId, earliest, identities, buckets)
  local repeats = {}
  for i = 0, #identities / 16 - 1 do
    local at = i * 16
    local from, to = i * digits + 1, i * digits + digits
    while from < to and byte(buckets, from) == 48 do
      from = from + 1
    end
    local bucket = sub(buckets, from, to)
    local field = sub(identities, at + 1, at + 16)
    local key = current .. bucket
    if call('HSETNX', key, field, claimId) == 1 then
      taken = taken + 1
      if #others > 0 and claimedBefore(bucket, field, earliest) then
        call('HDEL', key, field)
        taken = taken - 1
        repeats[#repeats + 1] = i
      end
    else
      local other = call('HGET', key, field)
      if other ~= claimId and counts(other, earliest) then
        repeats[#repeats + 1] = i
      elseif other ~= claimId then
        call('HSET', key, field, claimId)
      end
    end
  end
  return repeats
end

local results = {}
local isRegistered = false
for at = 5, afterBlocks - 5, 5 do
  local result = false
  if isPending(ARGV[at]) then
    -- sweepSeen-1.lua removes the generations of this set. The marker 'm' saves lookups in generations without buckets.
    if not isRegistered and call('ZADD', KEYS[3], 'NX', ARGV[2], current) == 1 then
      call('SET', current .. 'm', '', 'PXAT', ARGV[2])
    end
    isRegistered = true
    result = claim(ARGV[at + 1], tonumber(ARGV[at + 2]), ARGV[at + 3], ARGV[at + 4])
  end
  results[#results + 1] = result
end
-- 'n' counts the identities of a generation, so that an operator can estimate its memory.
if taken > 0 and call('INCRBY', current .. 'n', taken) == taken then
  call('PEXPIREAT', current .. 'n', ARGV[2])
end
return results
