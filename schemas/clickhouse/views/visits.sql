-- An account follows the corrections of the company whose id it has: each view has the accounts that no merge concerns, and the others.
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
  entity_id AS account_id,
  day,
  visits,
  events,
  visits AS unique_ips
FROM visit_days
WHERE kind != 'company' AND entity_id > ''
  AND (tenant_id, entity_id) NOT IN (SELECT tenant_id, company_id FROM merged_companies)
  AND (tenant_id, entity_id) NOT IN (SELECT tenant_id, company_id FROM corrected_companies WHERE is_hidden)
UNION ALL
SELECT
  tenant_id,
  account_id,
  day,
  length(found) AS visits,
  account_events AS events,
  visits AS unique_ips
FROM
(
  SELECT
    days.tenant_id AS tenant_id,
    merged.target_id AS account_id,
    day,
    sum(days.events) AS account_events,
    groupUniqArrayArray(visitors) AS found
  FROM visit_days AS days
  INNER JOIN merged_companies AS merged ON merged.tenant_id = days.tenant_id AND merged.company_id = days.entity_id
  WHERE kind != 'company' AND (days.tenant_id, entity_id) IN (SELECT tenant_id, company_id FROM merged_companies)
  GROUP BY tenant_id, account_id, day
)
WHERE (tenant_id, account_id) NOT IN (SELECT tenant_id, company_id FROM corrected_companies WHERE is_hidden)
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
  uniqExact(visitor) AS unique_ips
FROM events
WHERE events.session_id IS NOT NULL
  AND (tenant_id, account_id) NOT IN (SELECT tenant_id, company_id FROM merged_companies)
  AND (tenant_id, account_id) NOT IN (SELECT tenant_id, company_id FROM corrected_companies WHERE is_hidden)
GROUP BY tenant_id, day, account_id, session_id
UNION ALL
SELECT
  events.tenant_id AS tenant_id,
  toDate32(timestamp) AS day,
  merged.target_id AS account_id,
  assumeNotNull(events.session_id) AS session_id,
  min(timestamp) AS started_at,
  max(timestamp) AS ended_at,
  count() AS events,
  uniqExact(visitor) AS unique_ips
FROM events
INNER JOIN merged_companies AS merged ON merged.tenant_id = events.tenant_id AND merged.company_id = events.account_id
WHERE events.session_id IS NOT NULL
  AND (events.tenant_id, events.account_id) IN (SELECT tenant_id, company_id FROM merged_companies)
  AND (merged.tenant_id, merged.target_id) NOT IN (SELECT tenant_id, company_id FROM corrected_companies WHERE is_hidden)
GROUP BY tenant_id, day, account_id, session_id
COMMENT 'One row per session of an account on a UTC day; as people corrected its organisation';
