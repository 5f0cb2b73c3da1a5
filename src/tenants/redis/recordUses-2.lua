-- Records when keys were used. Skips older times and deleted keys.
-- KEYS[1] uses, KEYS[2] keys
-- ARGV pairs: SHA-256 of the key, milliseconds
-- Returns the number of recorded times.
local noted = 0
for i = 1, #ARGV, 2 do
  local last = redis.call('HGET', KEYS[1], ARGV[i])
  local is_later = not last or tonumber(last) < tonumber(ARGV[i + 1])
  if is_later and redis.call('HEXISTS', KEYS[2], ARGV[i]) == 1 then
    redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
    noted = noted + 1
  end
end
return noted
