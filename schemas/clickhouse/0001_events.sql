-- One row per event, in the column order of schemas/row.ts. Partitions follow the time of receipt: a backfill spans many
-- years by `timestamp`, but arrives within a month or two. Rows of the same insert token are stored once.
--
-- The projections keep the aggregates that `accounts`, `companies` and `daily_visits` read. They are in the same data part as
-- their rows, so after a crash both exist or neither does. A separate table of sums could not guarantee this.
-- sipHash64 turns any address into 8 bytes. A visit is a distinct (address, UTC day).
--
-- The key is tenant, day, account: queries ask for a day, or for an account, which has a few thousand rows per day.
-- Tables from before 0003 keep their key, (tenant_id, account_id): schemas/README.md, Tables.
CREATE TABLE IF NOT EXISTS events
(
  ip String,
  tenant_id String,
  event_id String,
  received_at DateTime64(3, 'UTC'),
  timestamp DateTime64(3, 'UTC'),
  event_type String,
  session_id Nullable(Int64),
  platform String,
  properties String,
  user_properties String,
  extra String,
  account_id String,
  company_id String,
  business_name String,
  org_name String,
  hostname String,
  domain String,
  industry String,
  industry_category String,
  classification String,
  country_code String,
  asn UInt32,
  as_name String,
  quality UInt8,
  PROJECTION account_totals
  (
    SELECT
      tenant_id,
      account_id,
      company_id,
      toYYYYMM(received_at),
      count(),
      min(timestamp),
      max(timestamp),
      min(received_at),
      uniqExactState(sipHash64(ip)),
      uniqExactState(sipHash64(ip, toDate32(timestamp))),
      argMaxState((business_name, org_name, domain, industry, industry_category, classification, country_code, quality), timestamp)
    GROUP BY tenant_id, account_id, company_id, toYYYYMM(received_at)
  ),
  PROJECTION account_days
  (
    SELECT
      tenant_id,
      account_id,
      company_id,
      toDate32(timestamp),
      count(),
      uniqExactState(sipHash64(ip))
    GROUP BY tenant_id, account_id, company_id, toDate32(timestamp)
  )
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(received_at)
ORDER BY (tenant_id, toDate32(timestamp), account_id)
SETTINGS non_replicated_deduplication_window = 10000, lightweight_mutation_projection_mode = 'rebuild';
