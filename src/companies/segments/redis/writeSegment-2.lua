-- Creates or changes a segment.
-- KEYS[1] tenants, KEYS[2] segments of the tenant
-- ARGV[1] tenant id, ARGV[2] segment id, ARGV[3] JSON of a new segment, or of the fields that change
-- ARGV[4] most segments of a tenant; '' for a change, ARGV[5] now, ISO 8601: when another filter takes effect
-- Returns the JSON of the segment; 0 when the name is taken, 1 when the tenant has too many, nil when there is no such tenant or segment.
local call = redis.call
local tenant = call('HGET', KEYS[1], ARGV[1])
if not tenant or cjson.decode(tenant).deleting then
  return nil
end
local isNew = ARGV[4] ~= ''
local json = call('HGET', KEYS[2], ARGV[2])
if not isNew and not json then
  return nil
end
-- The answer to an earlier run of this script may have been lost.
if isNew and json then
  return json
end
local change = cjson.decode(ARGV[3])
local all = call('HGETALL', KEYS[2])
for i = 1, #all, 2 do
  if all[i] ~= ARGV[2] and cjson.decode(all[i + 1]).name == change.name then
    return 0
  end
end
if isNew and #all / 2 >= tonumber(ARGV[4]) then
  return 1
end
local segment = json and cjson.decode(json) or {}
if json and change.where and change.where ~= segment.where then
  segment.where_since = ARGV[5]
end
for name, value in pairs(change) do
  segment[name] = value
end
local changed = cjson.encode(segment)
call('HSET', KEYS[2], ARGV[2], changed)
return changed
