-- Entries that were added right before a script, in the same transaction, by `Script.runAdding`. The newest entry of each of these
-- streams is such a one: nobody comes between.
local addedTo = {}
local refused

-- To be told of each stream of such an entry, before anything else: an addition that Redis refused is found here.
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

-- Calls `judge`, which writes nothing before it may fail. When it does, or an addition was refused, all is taken back, and `failure` is
-- to be returned.
-- Returns failure, result
local function tried(judge)
  local succeeded, result = pcall(function()
    if refused then
      error('WRONGTYPE ' .. refused .. ' is no stream', 0)
    end
    return judge()
  end)
  if succeeded then
    return nil, result
  end
  takeAllBack()
  return type(result) == 'string' and redis.error_reply(result) or result, nil
end

