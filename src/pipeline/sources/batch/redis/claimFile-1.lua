-- Notes that a job is to have a file. Repeating it changes nothing.
-- KEYS[1] file
-- ARGV[1] job, ARGV[2] the job whose place it may take, '' for none, ARGV[3] milliseconds that this is known
-- Returns the job that has the file and keeps it, or '' when it is the given one.
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] and holder ~= ARGV[2] then
  return holder
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])
return ''
