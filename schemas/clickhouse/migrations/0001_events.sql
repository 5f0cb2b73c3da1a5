-- Tables from before 0003 keep the key (tenant_id, account_id): schemas/README.md, Changes of the schema.
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
