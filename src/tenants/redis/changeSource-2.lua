-- Changes a source.
-- KEYS[1] keys, KEYS[2] prefixes
-- ARGV[1] id of the source, ARGV[2] JSON of the fields that change, ARGV[3] channel of changes
-- Returns the JSON of its key; nil when there is no such source.
local hash = redis.call('HGET', KEYS[2], ARGV[1])
if not hash then
  return nil
end
local key = cjson.decode(redis.call('HGET', KEYS[1], hash))
if not key.source then
  return nil
end
for name, value in pairs(cjson.decode(ARGV[2])) do
  key.source[name] = value
end
local json = cjson.encode(key)
redis.call('HSET', KEYS[1], hash, json)
redis.call('PUBLISH', ARGV[3], 'key')
return json
