-- An account that the sender names includes its events from addresses without a known organisation. It shows the last known organisation; an
-- event without one does not remove it.
--
-- An account follows the corrections of the company whose id it has. An account that the sender names keeps its events, and shows its latest
-- company as people corrected it: by its new name, or the one it is merged into, and never a hidden one. As in `companies`, names and times
-- come from company_sums, and visits from days.
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
AS WITH
  (SELECT (arrayPushBack(groupArray(concat(tenant_id, '\0', company_id)), ''), arrayPushBack(groupArray(target_id), '')) FROM merged_companies) AS merged
SELECT
  sums.tenant_id AS tenant_id,
  sums.account_id AS account_id,
  latest.1[7] AS business_name,
  latest.1[6] AS org_name,
  latest.1[5] AS domain,
  latest.1[4] AS industry,
  latest.1[3] AS industry_category,
  latest.1[1] AS classification,
  latest.1[2] AS country_code,
  ifNull(first_timestamp, first_received) AS first_seen,
  ifNull(last_timestamp, first_received) AS last_seen,
  sums.events AS events,
  days.visits AS visits,
  days.unique_ips AS unique_ips,
  latest.2 % 256 AS quality
FROM
(
  SELECT
    parts.tenant_id AS tenant_id,
    transform(concat(parts.tenant_id, '\0', part_account), merged.1, merged.2, part_account) AS account_id,
    sum(part_events) AS events,
    min(part_first) AS first_timestamp,
    max(part_last) AS last_timestamp,
    min(part_received) AS first_received,
    argMaxIf(
      (
        if(shown.name != '', arrayPushBack(arrayPopBack(if(part_id != shown_id AND notEmpty(target.texts), target.texts, part_texts)), shown.name), if(part_id != shown_id AND notEmpty(target.texts), target.texts, part_texts)),
        if(part_id != shown_id AND notEmpty(target.texts), target.ranked, part_ranked)
      ),
      (part_id != '', part_ranked),
      NOT shown.is_hidden) AS latest
  FROM
  (
    SELECT
      tenant_id,
      account_id AS part_account,
      any(events.company_id) AS part_id,
      transform(concat(tenant_id, '\0', part_id), merged.1, merged.2, part_id) AS shown_id,
      count() AS part_events,
      minOrNullIf(timestamp, timestamp <= received_at + toIntervalDay(1)) AS part_first,
      maxOrNullIf(timestamp, timestamp <= received_at + toIntervalDay(1)) AS part_last,
      min(received_at) AS part_received,
      max(toUnixTimestamp64Milli(received_at) * 256 + quality) AS part_ranked,
      splitByChar('\x1f', finalizeAggregation(argMaxState(concat(classification, '\x1f', country_code, '\x1f', industry_category, '\x1f', industry, '\x1f', domain, '\x1f', org_name, '\x1f', business_name), toUnixTimestamp64Milli(received_at) * 256 + quality))) AS part_texts
    FROM events
    WHERE account_id > ''
    GROUP BY tenant_id, company, account_id
  ) AS parts
  LEFT JOIN corrected_companies AS shown ON shown.tenant_id = parts.tenant_id AND shown.company_id = parts.shown_id
  LEFT JOIN
  (
    SELECT
      tenant_id,
      any(events.company_id) AS target_id,
      max(toUnixTimestamp64Milli(received_at) * 256 + quality) AS ranked,
      splitByChar('\x1f', finalizeAggregation(argMaxState(concat(classification, '\x1f', country_code, '\x1f', industry_category, '\x1f', industry, '\x1f', domain, '\x1f', org_name, '\x1f', business_name), toUnixTimestamp64Milli(received_at) * 256 + quality))) AS texts
    FROM events
    WHERE (tenant_id, company) IN (SELECT tenant_id, sipHash64(target_id) FROM merged_companies)
    GROUP BY tenant_id, company
  ) AS target ON target.tenant_id = parts.tenant_id AND target.target_id = parts.shown_id
  GROUP BY tenant_id, account_id
) AS sums
LEFT JOIN
(
  SELECT
    tenant_id,
    if(is_merged, transform(concat(tenant_id, '\0', entity_id), merged.1, merged.2, ''), entity_id) AS account_id,
    (tenant_id, entity_id) IN (SELECT tenant_id, company_id FROM merged_companies) AS is_merged,
    if(is_merged, uniqExactArray(arrayMap(visitor -> cityHash64(visitor, day), if(is_merged, visitors, []))), sum(visit_days.visits)) AS visits,
    uniqExactArray(visitors) AS unique_ips
  FROM visit_days
  WHERE kind != 'company' AND entity != 0
  GROUP BY tenant_id, account_id, is_merged
) AS days ON days.tenant_id = sums.tenant_id AND days.account_id = sums.account_id
WHERE (sums.tenant_id, sums.account_id) NOT IN (SELECT tenant_id, company_id FROM corrected_companies WHERE is_hidden)
COMMENT 'One row per account of a tenant: latest attributes, and sums of its events; as people corrected its organisation';
