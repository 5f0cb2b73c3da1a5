-- Heat costs only the queries that ask for this column. Joins of views are slow to plan, so merges are an array, and not a join.
CREATE OR REPLACE VIEW companies
(
  tenant_id String COMMENT 'Tenant',
  company_id String COMMENT 'Organisation: its domain, or else a slug of its name',
  business_name String COMMENT 'Name that a person gave it, or else that the organisation is known by, as of the latest receipt',
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
  quality UInt8 COMMENT 'How much is known of the address, 0 to 100',
  accounts UInt64 COMMENT 'Accounts of the sender''s that belong to the organisation',
  tags Array(String) COMMENT 'Tags that people gave it, sorted',
  owner String COMMENT 'Person who looks after it, as people say',
  note String COMMENT 'Note of a person',
  heat UInt8 COMMENT 'Interest of the last 30 UTC days, 0 to 100: see company_heat'
)
AS SELECT
  rows.tenant_id AS tenant_id,
  rows.company_id AS company_id,
  business_name,
  org_name,
  domain,
  industry,
  industry_category,
  classification,
  country_code,
  first_seen,
  last_seen,
  events,
  visits,
  unique_ips,
  quality,
  accounts,
  tags,
  owner,
  note,
  ifNull((SELECT heats.heat FROM company_heat AS heats WHERE heats.tenant_id = rows.tenant_id AND heats.company_id = rows.company_id), 0) AS heat
FROM
(
  SELECT
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
    accounts,
    [] AS tags,
    '' AS owner,
    '' AS note
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
      WHERE company_id > '' AND (tenant_id, company_id) NOT IN (SELECT tenant_id, company_id FROM concerned_companies)
      GROUP BY tenant_id, account_id, company_id
    )
    GROUP BY tenant_id, company_id
  )
  UNION ALL
  WITH
    (
      SELECT (arrayPushBack(groupArray(concat(tenant_id, '\0', company_id)), ''), arrayPushBack(groupArray(counts_for), ''))
      FROM corrected_companies
      WHERE counts_for != ''
    ) AS merged
  SELECT
    tenant_id,
    company_id,
    if(shown.name != '', shown.name, latest.1) AS business_name,
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
    accounts,
    shown.tags AS tags,
    shown.owner AS owner,
    shown.note AS note
  FROM
  (
    SELECT
      tenant_id,
      transform(concat(tenant_id, '\0', part_id), merged.1, merged.2, part_id) AS company_id,
      uniqExact(transform(concat(tenant_id, '\0', account_id), merged.1, merged.2, account_id)) AS accounts,
      sum(account_events) AS events,
      min(account_first) AS first_timestamp,
      max(account_last) AS last_timestamp,
      min(account_received) AS first_received,
      uniqExactMerge(account_ips) AS unique_ips,
      uniqExactMerge(account_visits) AS visits,
      if(max(part_id = company_id), argMaxMergeIf(account_latest, part_id = company_id), argMaxMerge(account_latest)) AS latest
    FROM
    (
      SELECT
        tenant_id,
        account_id,
        company_id AS part_id,
        count() AS account_events,
        minOrNullIf(timestamp, timestamp <= received_at + toIntervalDay(1)) AS account_first,
        maxOrNullIf(timestamp, timestamp <= received_at + toIntervalDay(1)) AS account_last,
        min(received_at) AS account_received,
        uniqExactState(sipHash64(ip)) AS account_ips,
        uniqExactState(sipHash64(ip, toDate32(timestamp))) AS account_visits,
        argMaxState((business_name, org_name, domain, industry, industry_category, classification, country_code, quality), toUnixTimestamp64Milli(received_at) * 256 + quality) AS account_latest
      FROM events
      WHERE company_id > '' AND (tenant_id, company_id) IN (SELECT tenant_id, company_id FROM concerned_companies)
      GROUP BY tenant_id, account_id, company_id
    )
    GROUP BY tenant_id, company_id
  ) AS sums
  LEFT JOIN corrected_companies AS shown ON shown.tenant_id = sums.tenant_id AND shown.company_id = sums.company_id
  WHERE NOT shown.is_hidden
) AS rows
COMMENT 'One row per organisation of a tenant, whatever account ids its events carry; as people corrected it';
