CREATE TABLE IF NOT EXISTS zone_days
(
  tenant_id LowCardinality(String) COMMENT 'Tenant',
  day Date32 COMMENT 'UTC day of the timestamps',
  zone LowCardinality(String) COMMENT 'Time zone, an IANA name',
  local_day Date32 COMMENT 'Day of the timestamps in this zone',
  company UInt64 COMMENT 'As in events; 0 when none is known',
  has_account Bool COMMENT 'Whether the sender names an account, or the company is known',
  built UInt64 COMMENT 'The build: when it began, in milliseconds since 1970',
  events UInt32 COMMENT 'How many events',
  visitors Array(UInt64) COMMENT 'The visitors, as in events',
  check UInt64 COMMENT 'Sum of the hashes of these events' CODEC(NONE),
  PROJECTION checks
  (
    SELECT tenant_id, day, built, zone, sum(events), sum(check), count()
    GROUP BY tenant_id, day, built, zone
  )
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(day)
ORDER BY (tenant_id, company, local_day)
SETTINGS index_granularity = 1024, non_replicated_deduplication_window = 0
COMMENT 'Numbers of companies on closed UTC days, by days of the time zone of the tenant; a day counts if zone_day_builds names its build';

CREATE TABLE IF NOT EXISTS zone_page_days
(
  tenant_id LowCardinality(String) COMMENT 'Tenant',
  day Date32 COMMENT 'UTC day of the timestamps',
  zone LowCardinality(String) COMMENT 'Time zone, an IANA name',
  local_day Date32 COMMENT 'Day of the timestamps in this zone',
  page LowCardinality(String) COMMENT 'As in events; never empty',
  company UInt64 COMMENT 'As in events; never 0',
  built UInt64 COMMENT 'The build: when it began, in milliseconds since 1970',
  events UInt32 COMMENT 'How many events',
  visitors Array(UInt64) COMMENT 'The visitors, as in events',
  last DateTime64(3, 'UTC') COMMENT 'Latest timestamp',
  check UInt64 COMMENT 'Sum of the hashes of these events' CODEC(NONE),
  PROJECTION checks
  (
    SELECT tenant_id, day, built, zone, sum(events), sum(check), count()
    GROUP BY tenant_id, day, built, zone
  )
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(day)
ORDER BY (tenant_id, local_day, page, company)
SETTINGS index_granularity = 1024, non_replicated_deduplication_window = 0
COMMENT 'Numbers of pages and companies on closed UTC days, by days of the time zone of the tenant; a day counts if valid_zone_page_days names its build';
