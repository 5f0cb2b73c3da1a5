-- Stored events that a rule or newer data made noise (src/operations/reenrich/README.md, Hidden events). They leave `events` for this table,
-- unchanged, and come back when they are noise no longer. So whatever reads `events` leaves them out: each view, projection, export and number.
-- A column of `events` would have to be in every projection, and in every query that anybody writes.
--
-- A column that `events` gets later belongs here too: a test compares the two.
CREATE TABLE IF NOT EXISTS hidden_events
(
  ip String COMMENT 'As in events',
  tenant_id String COMMENT 'As in events',
  event_id String COMMENT 'As in events' CODEC(ZSTD(1)),
  received_at DateTime64(3, 'UTC') COMMENT 'As in events',
  timestamp DateTime64(3, 'UTC') COMMENT 'As in events',
  event_type String COMMENT 'As in events',
  session_id Nullable(Int64) COMMENT 'As in events',
  platform String COMMENT 'As in events',
  properties String COMMENT 'As in events',
  user_properties String COMMENT 'As in events',
  extra String COMMENT 'As in events',
  account_id String COMMENT 'As in events',
  company_id String COMMENT 'As in events',
  business_name String COMMENT 'As in events',
  org_name String COMMENT 'As in events',
  hostname String COMMENT 'As in events',
  domain String COMMENT 'As in events',
  industry String COMMENT 'As in events',
  industry_category String COMMENT 'As in events',
  classification String COMMENT 'As in events',
  country_code String COMMENT 'As in events',
  asn UInt32 COMMENT 'As in events',
  as_name String COMMENT 'As in events',
  quality UInt8 COMMENT 'As in events',
  job_id LowCardinality(String) DEFAULT '' COMMENT 'As in events',
  request_id String DEFAULT '' COMMENT 'As in events' CODEC(ZSTD(1)),
  source_id LowCardinality(String) DEFAULT '' COMMENT 'As in events',
  known_domain LowCardinality(String) DEFAULT '' COMMENT 'As in events',
  browser_key UInt8 DEFAULT 0 COMMENT 'As in events',
  hidden_rule LowCardinality(String) COMMENT 'Rule of the tenant that hides the event; empty when its class alone does',
  hidden_reason LowCardinality(String) COMMENT 'Reason in daily_outcomes: own, always_noise, unclassified, or of a bot; empty when its class alone hides it',
  hidden_class LowCardinality(String) COMMENT 'Class in daily_outcomes',
  INDEX event_ids event_id TYPE bloom_filter(0.01) GRANULARITY 1,
  PROJECTION hidden_days
  (
    SELECT tenant_id, toDate32(received_at), job_id, source_id, hidden_rule, hidden_reason, hidden_class, count()
    GROUP BY tenant_id, toDate32(received_at), job_id, source_id, hidden_rule, hidden_reason, hidden_class
  )
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(received_at)
ORDER BY (tenant_id, toDate32(timestamp), account_id)
SETTINGS non_replicated_deduplication_window = 10000, lightweight_mutation_projection_mode = 'rebuild'
COMMENT 'One row per stored event that is hidden as noise: it counts as filtered, and comes back to events when it is noise no longer';

CREATE TABLE IF NOT EXISTS hidden_changes
(
  tenant_id String COMMENT 'Tenant',
  company_id String COMMENT 'Organisation of the events',
  at DateTime64(3, 'UTC') COMMENT 'When',
  run String COMMENT 'The run that did it',
  by String COMMENT 'Who asked for it: the person who was signed in, or command line',
  action LowCardinality(String) COMMENT 'hidden, shown, or deleted',
  rule LowCardinality(String) COMMENT 'Rule that hid them; empty when their class alone did',
  events UInt64 COMMENT 'How many events',
  first_seen DateTime64(3, 'UTC') COMMENT 'Earliest timestamp of these events; those more than a day ahead of their receipt are left out'
)
ENGINE = MergeTree
ORDER BY (tenant_id, company_id, at)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'What hid events of companies, and what showed them again, oldest to newest';
