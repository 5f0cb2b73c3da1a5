#!lua flags=allow-oom
-- Notes companies of a tenant that have new visits. Runs above maxmemory, because the sink that calls it drains Redis.
-- KEYS[1] companies of the tenant by the microsecond of the last note
-- ARGV[1] most companies; with more, '*' replaces them and means all
-- then the companies, at most 1,000
-- Repeating it only gives them a later time.
local call = redis.call
local time = call('TIME')
local micros = time[1] * 1000000 + time[2]
local companies = {}
for i = 2, #ARGV do
  companies[#companies + 1] = micros
  companies[#companies + 1] = ARGV[i]
end
if not call('ZSCORE', KEYS[1], '*') then
  call('ZADD', KEYS[1], unpack(companies))
  if call('ZCARD', KEYS[1]) <= tonumber(ARGV[1]) then
    return
  end
  call('DEL', KEYS[1])
end
call('ZADD', KEYS[1], micros, '*')
