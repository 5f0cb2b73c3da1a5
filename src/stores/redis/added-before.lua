-- Functions for scripts that run right after XADD commands in the same transaction (`Script.runAdding`). Nothing runs in between, so
-- the newest entry of each stream is the one that was added.
local addedTo = {}
local refused

-- Call it first, for the stream of each added entry. It notices an XADD that Redis refused.
local function addedBefore(stream)
  if redis.call('TYPE', stream).ok == 'stream' then
    addedTo[#addedTo + 1] = stream
  else
    refused = refused or stream
  end
end

local function takeBack(stream)
  redis.call('XDEL', stream, redis.call('XREVRANGE', stream, '+', '-', 'COUNT', 1)[1][1])
end

local function takeAllBack()
  for _, stream in ipairs(addedTo) do
    takeBack(stream)
  end
end

-- Calls `work`, which must not write before its last chance to fail. If it fails, or an XADD was refused, removes all added entries.
-- Returns failure, result: the script must return `failure` unless it is nil.
local function tried(work)
  local succeeded, result = pcall(function()
    if refused then
      error('WRONGTYPE ' .. refused .. ' is not a stream', 0)
    end
    return work()
  end)
  if succeeded then
    return nil, result
  end
  takeAllBack()
  return type(result) == 'string' and redis.error_reply(result) or result, nil
end

