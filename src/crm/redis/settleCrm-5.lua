#!lua flags=allow-oom
-- Writes the state of a connection to a CRM. Repeating it changes nothing.
-- KEYS[1] to KEYS[3] as in writeUnderLease-4.lua, KEYS[4] connections, KEYS[5] states
-- ARGV[1] to ARGV[3] as in writeUnderLease-4.lua, ARGV[4] tenant id, ARGV[5] connection id, ARGV[6] JSON of the state
-- ARGV[7] JSON of why it waits for a person; '': it does not
-- Returns 1; 0 when the connection was ended or replaced; -1 when the member does not hold the share.
if not holdsShare() then
  return -1
end
local json = redis.call('HGET', KEYS[4], ARGV[4])
local record = json and cjson.decode(json)
if not record or record.id ~= ARGV[5] then
  return 0
end
record.stopped = ARGV[7] ~= '' and cjson.decode(ARGV[7]) or nil
redis.call('HSET', KEYS[4], ARGV[4], cjson.encode(record))
redis.call('HSET', KEYS[5], ARGV[4], ARGV[6])
return 1
