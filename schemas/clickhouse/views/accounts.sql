-- An account that the sender names includes its events from addresses without a known organisation. It shows the last known
-- organisation; an event without one does not remove it. The expressions of the innermost queries match those of the projections of
-- `events` character by character; otherwise a query reads every event. For the same reason "known" is written company_id > ''.
--
-- An account follows the corrections of the company whose id it has. An account that the sender names keeps its events, and shows its latest
-- company as people corrected it: by its new name, or the one it is merged into, and never a hidden one.
CREATE OR REPLACE VIEW accounts
(
  tenant_id String COMMENT 'Tenant',
  account_id String COMMENT 'Account: the sender''s, or else the organisation',
  business_name String COMMENT 'Name that a person gave the organisation, or else that it is known by, as of the latest receipt; empty when none was ever known',
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
    WHERE account_id > '' AND (tenant_id, account_id) NOT IN (SELECT tenant_id, account_id FROM concerned_accounts)
    GROUP BY tenant_id, account_id, company_id
  )
  GROUP BY tenant_id, account_id
)
UNION ALL
SELECT
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
    account AS account_id,
    sum(company_events) AS events,
    min(company_first) AS first_timestamp,
    max(company_last) AS last_timestamp,
    min(company_received) AS first_received,
    uniqExactMerge(company_ips) AS unique_ips,
    uniqExactMerge(company_visits) AS visits,
    max(is_shown) AS is_known,
    argMaxMergeIf(company_latest, is_shown) AS known_latest,
    if(is_known, arrayFirst(choice -> choice.1 = known_latest, groupArrayIf((own_latest, shown_latest), is_shown)).2, argMaxMergeIf(company_latest, company_id = '')) AS latest
  FROM
  (
    SELECT
      parts.tenant_id AS tenant_id,
      account,
      parts.company_id AS company_id,
      company_events,
      company_first,
      company_last,
      company_received,
      company_ips,
      company_visits,
      company_latest,
      company > '' AND NOT shown.is_hidden AS is_shown,
      own_latest,
      if(company != parts.company_id AND target.company_id != '', target.latest, own_latest) AS base,
      (if(shown.name != '', shown.name, base.1), base.2, base.3, base.4, base.5, base.6, base.7, base.8) AS shown_latest
    FROM
    (
      SELECT
        groups.tenant_id AS tenant_id,
        if(account.counts_for != '', account.counts_for, groups.account_id) AS account,
        groups.company_id AS company_id,
        if(own.counts_for != '', own.counts_for, groups.company_id) AS company,
        company_events,
        company_first,
        company_last,
        company_received,
        company_ips,
        company_visits,
        company_latest,
        finalizeAggregation(company_latest) AS own_latest
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
        WHERE account_id > '' AND (tenant_id, account_id) IN (SELECT tenant_id, account_id FROM concerned_accounts)
        GROUP BY tenant_id, account_id, company_id
      ) AS groups
      LEFT JOIN corrected_companies AS own ON own.tenant_id = groups.tenant_id AND own.company_id = groups.company_id
      LEFT JOIN corrected_companies AS account ON account.tenant_id = groups.tenant_id AND account.company_id = groups.account_id
    ) AS parts
    LEFT JOIN corrected_companies AS shown ON shown.tenant_id = parts.tenant_id AND shown.company_id = parts.company
    LEFT JOIN
    (
      SELECT
        tenant_id,
        company_id,
        finalizeAggregation(argMaxState((business_name, org_name, domain, industry, industry_category, classification, country_code, quality), toUnixTimestamp64Milli(received_at) * 256 + quality)) AS latest
      FROM events
      WHERE company_id > '' AND (tenant_id, company_id) IN (SELECT tenant_id, counts_for FROM corrected_companies WHERE counts_for != '')
      GROUP BY tenant_id, company_id
    ) AS target ON target.tenant_id = parts.tenant_id AND target.company_id = parts.company
  )
  GROUP BY tenant_id, account_id
) AS sums
LEFT JOIN corrected_companies AS hidden ON hidden.tenant_id = sums.tenant_id AND hidden.company_id = sums.account_id
WHERE NOT hidden.is_hidden
COMMENT 'One row per account of a tenant: latest attributes, and sums of its events; as people corrected its organisation';
