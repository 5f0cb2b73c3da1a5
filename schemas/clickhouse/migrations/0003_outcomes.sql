CREATE TABLE IF NOT EXISTS outcomes
(
  source String COMMENT 'Where the count was made: the commit that brought the events, and behind a slash the stream entry they left with' CODEC(ZSTD(1)),
  tenant_id LowCardinality(String) COMMENT 'Tenant',
  day Date32 COMMENT 'UTC day of receipt',
  job_id LowCardinality(String) COMMENT 'Batch job that brought the events; empty for live events',
  status LowCardinality(String) COMMENT 'What became of them: filtered, duplicates, invalid_ip, rejected, dead, or the reason for which another stage drops events',
  reason LowCardinality(String) COMMENT 'Why, where the status does not say it: what is wrong with a rejected line; the stage or sink that a dead event failed in',
  classification LowCardinality(String) COMMENT 'Class of their addresses; empty when nothing speaks for one, or no address was judged',
  events Int64 COMMENT 'How many; negative when a count is taken back, because a dead event goes on',
  PROJECTION days
  (
    SELECT tenant_id, day, job_id, status, reason, classification, sum(events)
    GROUP BY tenant_id, day, job_id, status, reason, classification
  )
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(day)
ORDER BY (tenant_id, day)
SETTINGS non_replicated_deduplication_window = 10000, lightweight_mutation_projection_mode = 'rebuild'
COMMENT 'Sums of events that are not stored, as they were counted; daily_outcomes sums them up';
