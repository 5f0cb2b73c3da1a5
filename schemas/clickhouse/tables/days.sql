-- Only the builder writes here. Rows of one build of a day have the same `built`; several builds of a day may be stored at a time.
-- ORDER BY: the days of a company are together, so a query about a few companies reads few rows. Partitions limit the days.
-- index_granularity: a company has at most a row a day.
-- Not ReplacingMergeTree: a merge could remove a build while a query reads it.
CREATE TABLE IF NOT EXISTS entity_days
(
  tenant_id LowCardinality(String) COMMENT 'Tenant',
  day Date32 COMMENT 'UTC day of the timestamps',
  kind Enum8('both' = 0, 'company' = 1, 'account' = 2) COMMENT 'What the entity is; both: its events as a company are those as an account',
  entity UInt64 COMMENT 'Number of the company or the account: sipHash64 of entity_id; 0 when none is known',
  entity_id String COMMENT 'company_id or account_id' CODEC(ZSTD(1)),
  built UInt64 COMMENT 'The build: when it began, in milliseconds since 1970',
  events UInt32 COMMENT 'How many events',
  visits UInt32 COMMENT 'How many visitors',
  visitors Array(UInt64) COMMENT 'The visitors, as in events',
  check UInt64 COMMENT 'Sum of the hashes of these events' CODEC(NONE),
  INDEX ids entity_id TYPE bloom_filter(0.01) GRANULARITY 1,
  PROJECTION checks
  (
    SELECT
      tenant_id,
      day,
      built,
      sumIf(events, kind != 'account'),
      sumIf(check, kind != 'account'),
      sumIf(events, kind != 'company'),
      sumIf(check, kind != 'company'),
      count()
    GROUP BY tenant_id, day, built
  )
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(day)
ORDER BY (tenant_id, entity, kind, day)
SETTINGS index_granularity = 1024, non_replicated_deduplication_window = 0
COMMENT 'Numbers of companies and accounts on closed days; a day counts if valid_days names its build';

CREATE TABLE IF NOT EXISTS page_days
(
  tenant_id LowCardinality(String) COMMENT 'Tenant',
  day Date32 COMMENT 'UTC day of the timestamps',
  page LowCardinality(String) COMMENT 'As in events; never empty',
  company UInt64 COMMENT 'As in events; never 0',
  built UInt64 COMMENT 'The build: when it began, in milliseconds since 1970',
  events UInt32 COMMENT 'How many events',
  visits UInt32 COMMENT 'How many visitors',
  last DateTime64(3, 'UTC') COMMENT 'Latest timestamp',
  check UInt64 COMMENT 'Sum of the hashes of these events' CODEC(NONE),
  PROJECTION checks
  (
    SELECT tenant_id, day, built, sum(events), sum(check), count()
    GROUP BY tenant_id, day, built
  )
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(day)
ORDER BY (tenant_id, day, page, company)
SETTINGS index_granularity = 1024, non_replicated_deduplication_window = 0
COMMENT 'Numbers of pages and companies on closed days; a day counts if valid_page_days names its build';

-- Only of tenants with another time zone than UTC. A UTC day is cut at local midnight, so it has rows of two local days. Visits of two cuts do
-- not add up to those of a local day, so each row has its visitors.
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
