-- An account that the sender names includes its events from addresses without a known organisation. It shows the last known
-- organisation; an event without one does not remove it. The expressions of the innermost queries still match those of the
-- projections of `events` character by character. `companies` and usage count organisations only, as before.
CREATE OR REPLACE VIEW accounts
(
  tenant_id String COMMENT 'Tenant',
  account_id String COMMENT 'Account: the sender''s, or else the organisation',
  business_name String COMMENT 'Name that the organisation is known by, as of the latest receipt; empty when none was ever known',
  org_name String COMMENT 'Name of the organisation in full',
  domain String COMMENT 'Domain of the organisation',
  industry String COMMENT 'Industry of the organisation',
  industry_category String COMMENT 'Group of industries',
  classification String COMMENT 'business, education or government; empty when nothing speaks for one',
  country_code String COMMENT 'Country, ISO 3166-1 alpha-2',
  first_seen DateTime64(3, 'UTC') COMMENT 'Earliest timestamp; those more than a day ahead of their receipt are left out',
  last_seen DateTime64(3, 'UTC') COMMENT 'Latest timestamp; those more than a day ahead of their receipt are left out',
  events UInt64 COMMENT 'Events',
  visits UInt64 COMMENT 'Visits: distinct pairs of address and UTC day',
  unique_ips UInt64 COMMENT 'Distinct addresses; of tenants that do not keep addresses, distinct pairs of address and UTC day',
  quality UInt8 COMMENT 'How much is known of the address, 0 to 100'
)
AS SELECT
  tenant_id,
  account_id,
  latest.1 AS business_name,
  latest.2 AS org_name,
  latest.3 AS domain,
  latest.4 AS industry,
  latest.5 AS industry_category,
  latest.6 AS classification,
  latest.7 AS country_code,
  ifNull(first_timestamp, first_received) AS first_seen,
  ifNull(last_timestamp, first_received) AS last_seen,
  events,
  visits,
  unique_ips,
  latest.8 AS quality
FROM
(
  SELECT
    tenant_id,
    account_id,
    sum(company_events) AS events,
    min(company_first) AS first_timestamp,
    max(company_last) AS last_timestamp,
    min(company_received) AS first_received,
    uniqExactMerge(company_ips) AS unique_ips,
    uniqExactMerge(company_visits) AS visits,
    if(max(company_id) > '', argMaxMergeIf(company_latest, company_id > ''), argMaxMerge(company_latest)) AS latest
  FROM
  (
    SELECT
      tenant_id,
      account_id,
      company_id,
      count() AS company_events,
      minOrNullIf(timestamp, timestamp <= received_at + toIntervalDay(1)) AS company_first,
      maxOrNullIf(timestamp, timestamp <= received_at + toIntervalDay(1)) AS company_last,
      min(received_at) AS company_received,
      uniqExactState(sipHash64(ip)) AS company_ips,
      uniqExactState(sipHash64(ip, toDate32(timestamp))) AS company_visits,
      argMaxState((business_name, org_name, domain, industry, industry_category, classification, country_code, quality), toUnixTimestamp64Milli(received_at) * 256 + quality) AS company_latest
    FROM events
    WHERE account_id > ''
    GROUP BY tenant_id, account_id, company_id
  )
  GROUP BY tenant_id, account_id
)
COMMENT 'One row per account of a tenant: latest attributes, and sums of its events';

CREATE OR REPLACE VIEW daily_visits
(
  tenant_id String COMMENT 'Tenant',
  account_id String COMMENT 'Account: the sender''s, or else the organisation',
  day Date32 COMMENT 'UTC day of the timestamps',
  visits UInt64 COMMENT 'Visits: distinct pairs of address and UTC day',
  events UInt64 COMMENT 'Events',
  unique_ips UInt64 COMMENT 'Distinct addresses'
)
AS SELECT
  tenant_id,
  account_id,
  day,
  unique_ips AS visits,
  events,
  unique_ips
FROM
(
  SELECT
    tenant_id,
    account_id,
    toDate32(timestamp) AS day,
    count() AS events,
    finalizeAggregation(uniqExactState(sipHash64(ip))) AS unique_ips
  FROM events
  WHERE account_id > ''
  GROUP BY tenant_id, account_id, day
)
COMMENT 'One row per account and UTC day';
