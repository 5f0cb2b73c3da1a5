-- The views for analysts. As in 0002, expressions match those of the projections of `events` character by character.
CREATE OR REPLACE VIEW accounts
(
  tenant_id String COMMENT 'Tenant',
  account_id String COMMENT 'Account: the sender''s, or else the organisation',
  business_name String COMMENT 'Name that the organisation is known by, as of the latest receipt',
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
  unique_ips UInt64 COMMENT 'Distinct addresses',
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
    count() AS events,
    minOrNullIf(timestamp, timestamp <= received_at + toIntervalDay(1)) AS first_timestamp,
    maxOrNullIf(timestamp, timestamp <= received_at + toIntervalDay(1)) AS last_timestamp,
    min(received_at) AS first_received,
    finalizeAggregation(uniqExactState(sipHash64(ip))) AS unique_ips,
    finalizeAggregation(uniqExactState(sipHash64(ip, toDate32(timestamp)))) AS visits,
    finalizeAggregation(argMaxState((business_name, org_name, domain, industry, industry_category, classification, country_code, quality), toUnixTimestamp64Milli(received_at) * 256 + quality)) AS latest
  FROM events
  WHERE company_id > ''
  GROUP BY tenant_id, account_id
)
COMMENT 'One row per account of a tenant: latest attributes, and sums of its events';

CREATE OR REPLACE VIEW companies
(
  tenant_id String COMMENT 'Tenant',
  company_id String COMMENT 'Organisation: its domain, or else a slug of its name',
  business_name String COMMENT 'Name that the organisation is known by, as of the latest receipt',
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
  unique_ips UInt64 COMMENT 'Distinct addresses',
  quality UInt8 COMMENT 'How much is known of the address, 0 to 100',
  accounts UInt64 COMMENT 'Accounts of the sender''s that belong to the organisation'
)
AS SELECT
  tenant_id,
  company_id,
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
  latest.8 AS quality,
  accounts
FROM
(
  SELECT
    tenant_id,
    company_id,
    count() AS accounts,
    sum(account_events) AS events,
    min(account_first) AS first_timestamp,
    max(account_last) AS last_timestamp,
    min(account_received) AS first_received,
    uniqExactMerge(account_ips) AS unique_ips,
    uniqExactMerge(account_visits) AS visits,
    argMaxMerge(account_latest) AS latest
  FROM
  (
    SELECT
      tenant_id,
      account_id,
      company_id,
      count() AS account_events,
      minOrNullIf(timestamp, timestamp <= received_at + toIntervalDay(1)) AS account_first,
      maxOrNullIf(timestamp, timestamp <= received_at + toIntervalDay(1)) AS account_last,
      min(received_at) AS account_received,
      uniqExactState(sipHash64(ip)) AS account_ips,
      uniqExactState(sipHash64(ip, toDate32(timestamp))) AS account_visits,
      argMaxState((business_name, org_name, domain, industry, industry_category, classification, country_code, quality), toUnixTimestamp64Milli(received_at) * 256 + quality) AS account_latest
    FROM events
    WHERE company_id > ''
    GROUP BY tenant_id, account_id, company_id
  )
  GROUP BY tenant_id, company_id
)
COMMENT 'One row per organisation of a tenant, whatever account ids its events carry';

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
  WHERE company_id > ''
  GROUP BY tenant_id, account_id, day
)
COMMENT 'One row per account and UTC day';

CREATE OR REPLACE VIEW daily_outcomes
(
  tenant_id String COMMENT 'Tenant',
  day Date32 COMMENT 'UTC day of receipt',
  lane String COMMENT 'live or batch',
  status String COMMENT 'What became of the events: stored, filtered, duplicates, invalid_ip, rejected, dead, or the reason for which another stage drops events',
  reason String COMMENT 'Why, where the status does not say it: what is wrong with a rejected line; the stage or sink that a dead event failed in',
  classification String COMMENT 'Class of their addresses; empty when nothing speaks for one, or no address was judged',
  events Int64 COMMENT 'How many'
)
AS SELECT
  tenant_id,
  day,
  lane,
  status,
  reason,
  classification,
  sum(n) AS events
FROM
(
  SELECT
    tenant_id,
    toDate32(received_at) AS day,
    if(job_id = '', 'live', 'batch') AS lane,
    'stored' AS status,
    '' AS reason,
    classification,
    toInt64(count()) AS n
  FROM events
  GROUP BY tenant_id, day, job_id, classification
  UNION ALL
  SELECT
    tenant_id,
    day,
    if(job_id = '', 'live', 'batch') AS lane,
    status,
    reason,
    classification,
    sum(events) AS n
  FROM outcomes
  GROUP BY tenant_id, day, job_id, status, reason, classification
)
GROUP BY tenant_id, day, lane, status, reason, classification
HAVING events != 0
COMMENT 'Every event that was received, by UTC day of receipt and by what became of it';

-- By day, so that a query reads only its days; see schemas/README.md, Tables.
CREATE OR REPLACE VIEW sessions
(
  tenant_id String COMMENT 'Tenant',
  day Date32 COMMENT 'UTC day of the timestamps',
  account_id String COMMENT 'Account: the sender''s, or else the organisation; empty when neither is known',
  session_id Int64 COMMENT 'Session, as the sender says; one that goes on over midnight has a row on each day',
  started_at DateTime64(3, 'UTC') COMMENT 'Earliest timestamp',
  ended_at DateTime64(3, 'UTC') COMMENT 'Latest timestamp',
  events UInt64 COMMENT 'Events',
  unique_ips UInt64 COMMENT 'Distinct addresses'
)
AS SELECT
  tenant_id,
  toDate32(timestamp) AS day,
  account_id,
  assumeNotNull(session_id) AS session_id,
  min(timestamp) AS started_at,
  max(timestamp) AS ended_at,
  count() AS events,
  uniqExact(ip) AS unique_ips
FROM events
WHERE events.session_id IS NOT NULL
GROUP BY tenant_id, day, account_id, session_id
COMMENT 'One row per session of an account on a UTC day';
