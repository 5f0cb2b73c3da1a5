ALTER TABLE events MODIFY SETTING min_bytes_for_wide_part = 67108864;
