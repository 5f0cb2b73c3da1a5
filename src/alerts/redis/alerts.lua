-- Functions for the scripts of alerts.
local call = redis.call

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
