-- A part with a file for each column has a hundred of them here, projections with it, and is written with every full insert of a
-- sink; the file system took a quarter of ClickHouse's time for them. Parts below 64 MiB, which merges make one of soon, have
-- one file for all columns. Reading one column still reads no other.
ALTER TABLE events MODIFY SETTING min_bytes_for_wide_part = 67108864;
