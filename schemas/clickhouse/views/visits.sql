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
  WHERE account_id > '' AND (tenant_id, account_id) NOT IN (SELECT tenant_id, company_id FROM concerned_companies)
  GROUP BY tenant_id, account_id, day
)
UNION ALL
SELECT
  tenant_id,
  account_id,
  day,
  unique_ips AS visits,
  events,
  unique_ips
FROM
(
  SELECT
    days.tenant_id AS tenant_id,
    if(account.counts_for != '', account.counts_for, days.account_id) AS account_id,
    day,
    sum(day_events) AS events,
    uniqExactMerge(day_ips) AS unique_ips
  FROM
  (
    SELECT
      tenant_id,
      account_id,
      toDate32(timestamp) AS day,
      count() AS day_events,
      uniqExactState(sipHash64(ip)) AS day_ips
    FROM events
    WHERE account_id > '' AND (tenant_id, account_id) IN (SELECT tenant_id, company_id FROM concerned_companies)
    GROUP BY tenant_id, account_id, day
  ) AS days
  LEFT JOIN corrected_companies AS account ON account.tenant_id = days.tenant_id AND account.company_id = days.account_id
  GROUP BY tenant_id, account_id, day
) AS sums
LEFT JOIN corrected_companies AS shown ON shown.tenant_id = sums.tenant_id AND shown.company_id = sums.account_id
WHERE NOT shown.is_hidden
COMMENT 'One row per account and UTC day; as people corrected its organisation';

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
WHERE events.session_id IS NOT NULL AND (tenant_id, account_id) NOT IN (SELECT tenant_id, company_id FROM concerned_companies)
GROUP BY tenant_id, day, account_id, session_id
UNION ALL
SELECT
  tenant_id,
  day,
  account_id,
  session_id,
  started_at,
  ended_at,
  events,
  unique_ips
FROM
(
  SELECT
    parts.tenant_id AS tenant_id,
    day,
    if(account.counts_for != '', account.counts_for, parts.account_id) AS account_id,
    session_id,
    min(part_started) AS started_at,
    max(part_ended) AS ended_at,
    sum(part_events) AS events,
    uniqExactMerge(part_ips) AS unique_ips
  FROM
  (
    SELECT
      tenant_id,
      toDate32(timestamp) AS day,
      account_id,
      assumeNotNull(session_id) AS session_id,
      min(timestamp) AS part_started,
      max(timestamp) AS part_ended,
      count() AS part_events,
      uniqExactState(ip) AS part_ips
    FROM events
    WHERE events.session_id IS NOT NULL AND (tenant_id, account_id) IN (SELECT tenant_id, company_id FROM concerned_companies)
    GROUP BY tenant_id, day, account_id, session_id
  ) AS parts
  LEFT JOIN corrected_companies AS account ON account.tenant_id = parts.tenant_id AND account.company_id = parts.account_id
  GROUP BY tenant_id, day, account_id, session_id
) AS sums
LEFT JOIN corrected_companies AS shown ON shown.tenant_id = sums.tenant_id AND shown.company_id = sums.account_id
WHERE NOT shown.is_hidden
COMMENT 'One row per session of an account on a UTC day; as people corrected its organisation';
