#!lua flags=no-writes
-- Reads the reports of all processes. Runs while Redis refuses writes.
-- KEYS[1] reports
-- Returns the time of this server, Unix milliseconds, then the reports as they are stored.
local time = redis.call('TIME')
local found = redis.call('HVALS', KEYS[1])
table.insert(found, 1, string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000)))
return found
