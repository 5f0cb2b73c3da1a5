-- A part with one file per column has about a hundred files here, because of the projections. Each full insert writes a part, and
-- the file system took a quarter of ClickHouse's time. Parts below 64 MiB, which are merged soon, now have one file for all columns.
-- Reading one column still does not read the others.
ALTER TABLE events MODIFY SETTING min_bytes_for_wide_part = 67108864;
