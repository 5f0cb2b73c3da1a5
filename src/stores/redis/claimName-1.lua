-- Claims a name for an id. May be repeated.
-- KEYS[1] name
-- ARGV[1] id, ARGV[2] an id that it may replace, or '', ARGV[3] milliseconds to keep the claim
-- Returns '' when the id holds the name now, else the id that holds it.
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] and holder ~= ARGV[2] then
  return holder
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])
return ''
