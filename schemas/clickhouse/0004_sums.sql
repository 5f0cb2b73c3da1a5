-- Columns and sums for those who ask. Every statement changes what is written down of a table, or starts a work of ClickHouse's
-- own in the background: none waits for the rows that are there. Until a projection is built for a part, its rows are read.
ALTER TABLE events ADD COLUMN IF NOT EXISTS job_id LowCardinality(String) DEFAULT '';

ALTER TABLE events ADD COLUMN IF NOT EXISTS lane String ALIAS if(job_id = '', 'live', 'batch');

-- Digits of UUIDs are packed by entropy: 18 bytes each, where LZ4 takes 36. Any other id stays as it is.
ALTER TABLE events MODIFY COLUMN event_id String CODEC(ZSTD(1));

-- As account_totals, which it replaces, but names follow the time of receipt, and of those received at once the one with most
-- quality; and a timestamp more than a day ahead of its receipt says nothing of when an account was seen.
ALTER TABLE events ADD PROJECTION IF NOT EXISTS account_sums
(
  SELECT
    tenant_id,
    account_id,
    company_id,
    toYYYYMM(received_at),
    count(),
    minOrNullIf(timestamp, timestamp <= received_at + toIntervalDay(1)),
    maxOrNullIf(timestamp, timestamp <= received_at + toIntervalDay(1)),
    min(received_at),
    uniqExactState(sipHash64(ip)),
    uniqExactState(sipHash64(ip, toDate32(timestamp))),
    argMaxState((business_name, org_name, domain, industry, industry_category, classification, country_code, quality), toUnixTimestamp64Milli(received_at) * 256 + quality)
  GROUP BY tenant_id, account_id, company_id, toYYYYMM(received_at)
);

-- What daily_outcomes counts as stored.
ALTER TABLE events ADD PROJECTION IF NOT EXISTS stored_days
(
  SELECT tenant_id, toDate32(received_at), job_id, classification, count()
  GROUP BY tenant_id, toDate32(received_at), job_id, classification
);

ALTER TABLE events DROP PROJECTION IF EXISTS account_totals;

ALTER TABLE events MATERIALIZE PROJECTION IF EXISTS account_sums;

ALTER TABLE events MATERIALIZE PROJECTION IF EXISTS stored_days;
