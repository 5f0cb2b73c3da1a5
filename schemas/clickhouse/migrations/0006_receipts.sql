ALTER TABLE events
  ADD COLUMN IF NOT EXISTS request_id String DEFAULT '' COMMENT 'x-request-id of the request that brought the event; empty for lines of a batch job, and for events stored before there was this column' CODEC(ZSTD(1)) AFTER job_id,
  ADD INDEX IF NOT EXISTS event_ids event_id TYPE bloom_filter(0.01) GRANULARITY 1;

ALTER TABLE events MATERIALIZE INDEX IF EXISTS event_ids;
