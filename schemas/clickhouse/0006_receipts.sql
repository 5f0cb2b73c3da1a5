-- For GET /v1/events/{event_id}: the request of an event, and an index to find an event by its id without reading every row of its
-- tenant. ClickHouse builds the index for existing rows in the background; until then queries read them.
ALTER TABLE events
  ADD COLUMN IF NOT EXISTS request_id String DEFAULT '' COMMENT 'x-request-id of the request that brought the event; empty for lines of a batch job, and for events stored before there was this column' CODEC(ZSTD(1)) AFTER job_id,
  ADD INDEX IF NOT EXISTS event_ids event_id TYPE bloom_filter(0.01) GRANULARITY 1;

ALTER TABLE events MATERIALIZE INDEX IF EXISTS event_ids;
