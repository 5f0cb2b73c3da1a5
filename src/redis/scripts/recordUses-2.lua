-- Notes when keys were used, unless a time close by is noted already, or there is no such key any more.
-- KEYS[1] uses, KEYS[2] keys
-- ARGV[1] milliseconds by which a time must be later than the noted one
-- then in twos: SHA-256 of the key, milliseconds
-- Returns the number of times noted.
local noted = 0
for i = 2, #ARGV, 2 do
  local last = redis.call('HGET', KEYS[1], ARGV[i])
  local is_due = not last or tonumber(last) + tonumber(ARGV[1]) <= tonumber(ARGV[i + 1])
  if is_due and redis.call('HEXISTS', KEYS[2], ARGV[i]) == 1 then
    redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
    noted = noted + 1
  end
end
return noted
