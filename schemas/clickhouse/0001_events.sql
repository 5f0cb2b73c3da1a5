-- One row per event, in the column order of schemas/row.ts. Partitions follow the time of receipt: a backfill spans many
-- years by `timestamp`, but arrives within a month or two. Rows of the same insert token are stored once.
--
-- The projections keep the aggregates that `accounts`, `companies` and `daily_visits` read. They are part of the same data
-- part as the rows they sum up, so both are there or neither, whatever crashes; sums in a table beside could not promise it.
-- sipHash64 makes 8 bytes of any address. A visit is a distinct (address, UTC day).
--
-- The key leads from tenant to day to account: what a tenant asks is about a day, or about an account, of which a day is a
-- few thousand rows. Tables that versions before 0003 made keep their key, (tenant_id, account_id): schemas/README.md, Tables.
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
