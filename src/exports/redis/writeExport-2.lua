-- Creates or changes an export.
-- KEYS[1] tenants with exports, KEYS[2] exports of the tenant
-- ARGV[1] tenant id, ARGV[2] export id
-- ARGV[3] JSON: of a new export, or of the fields that change; a field that is null is removed
-- ARGV[4] most exports of a tenant; '' for a change
-- Returns the JSON of the export; 0 when the name is taken, 1 when the tenant has too many, nil when there is no such export.
local change = cjson.decode(ARGV[3])
local isNew = ARGV[4] ~= ''
local json = call('HGET', KEYS[2], ARGV[2])
if not isNew and not json then
  return nil
end
-- The answer to an earlier run of this script may have been lost.
if isNew and json then
  return json
end
if isNew then
  -- A file system may not tell capitals apart.
  for _, other in ipairs(call('HVALS', KEYS[2])) do
    if string.lower(cjson.decode(other).name) == string.lower(change.name) then
      return 0
    end
  end
  if call('HLEN', KEYS[2]) >= tonumber(ARGV[4]) then
    return 1
  end
end
local record = json and cjson.decode(json) or {}
for name, value in pairs(change) do
  if value == cjson.null then
    record[name] = nil
  else
    record[name] = value
  end
end
local changed = isNew and ARGV[3] or cjson.encode(record)
call('HSET', KEYS[2], ARGV[2], changed)
noteTenant(KEYS[1], KEYS[2], ARGV[1])
return changed
