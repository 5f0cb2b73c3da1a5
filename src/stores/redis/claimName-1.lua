-- Claims a file for a job. May be repeated.
-- KEYS[1] file
-- ARGV[1] job, ARGV[2] a job that it may replace, or '', ARGV[3] milliseconds to keep the claim
-- Returns '' when the job holds the file now, else the job that holds it.
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] and holder ~= ARGV[2] then
  return holder
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])
return ''
