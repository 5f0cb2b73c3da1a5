-- Functions for the scripts of alerts.
local call = redis.call

-- The UTC hour of a time, as a text.
local function hourOf(ms)
  return string.format('%d', math.floor(tonumber(ms) / 3600000))
end

-- Counts a delivered message of an alert in its hour. The count and the waiting messages together never exceed the limit: `roomOf`.
local function countDelivered(progress, now)
  local hour = hourOf(now)
  if call('HGET', progress, 'sent_hour') ~= hour then
    call('HSET', progress, 'sent_hour', hour, 'sent', 0)
  end
  call('HINCRBY', progress, 'sent', 1)
end

-- How many more messages of an alert may be made, when it delivers at most `perHour` in an hour. All that wait may be delivered in this hour.
local function roomOf(progress, queue, now, perHour)
  local isThisHour = call('HGET', progress, 'sent_hour') == hourOf(now)
  local sent = isThisHour and tonumber(call('HGET', progress, 'sent')) or 0
  return tonumber(perHour) - sent - call('ZCARD', queue)
end

-- Adds a message that is due now. `to` has the keys: deliveries of the tenant, their times, queue of the alert, queues.
local function addDue(to, member, now, id, message)
  call('HSET', to.deliveries, id, message)
  call('ZADD', to.times, now, id)
  call('ZADD', to.queue, now, id)
  call('SADD', to.queues, member)
end

-- Adds an occurrence of an alert: a message while its hour has room and no digest waits, else a line of its next digest, which is counted
-- and not listed above the number. `to` also has the keys of the digest and the progress.
local function addOccurrence(to, member, now, id, message, line, perHour, linesMax)
  local lines = call('LLEN', to.digest)
  if lines == 0 and roomOf(to.progress, to.queue, now, perHour) > 0 then
    addDue(to, member, now, id, message)
    return
  end
  if lines == 0 then
    call('HSET', to.progress, 'digest_from', now)
  end
  call('RPUSH', to.digest, lines < tonumber(linesMax) and line or '')
end

-- Keeps the set of tenants that have an alert to evaluate.
local function noteTenant(tenants, alerts, tenantId)
  for _, json in ipairs(call('HVALS', alerts)) do
    if not cjson.decode(json).paused then
      call('SADD', tenants, tenantId)
      return
    end
  end
  call('SREM', tenants, tenantId)
end

-- Takes a message from its queue, and an empty queue from the set of queues.
local function leaveQueue(queue, queues, id, member)
  call('ZREM', queue, id)
  if call('ZCARD', queue) == 0 then
    call('SREM', queues, member)
  end
end

-- Removes the oldest finished messages above the number, and those finished before a time.
local function trimDeliveries(deliveries, times, finished, max, beforeMs)
  local function remove(ids)
    if #ids > 0 then
      call('HDEL', deliveries, unpack(ids))
      call('ZREM', times, unpack(ids))
      call('ZREM', finished, unpack(ids))
    end
  end
  remove(call('ZRANGE', finished, '-inf', '(' .. beforeMs, 'BYSCORE', 'LIMIT', 0, 1000))
  local surplus = call('ZCARD', finished) - max
  if surplus > 0 then
    remove(call('ZRANGE', finished, 0, math.min(surplus, 1000) - 1))
  end
end
