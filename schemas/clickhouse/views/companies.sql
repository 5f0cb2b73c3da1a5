-- Names and times come from the projection company_sums, whose expressions are repeated character by character; otherwise a query reads every
-- event. Visits and heat come from days. A merged company has the attributes of its target, if that has any.
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
  status String COMMENT 'customer, open deal, or another word of people',
  own Map(String, String) COMMENT 'Values of own columns of the tenant as texts, by the key of the column: own[\'revenue\']',
  heat UInt8 COMMENT 'Interest of the last 30 UTC days, 0 to 100: see company_heat'
)
AS WITH (SELECT (arrayPushBack(groupArray(concat(tenant_id, '\0', company_id)), ''), arrayPushBack(groupArray(target_id), '')) FROM merged_companies) AS merged
SELECT
  sums.tenant_id AS tenant_id,
  sums.company_id AS company_id,
  if(shown.name != '', shown.name, texts[7]) AS business_name,
  texts[6] AS org_name,
  texts[5] AS domain,
  texts[4] AS industry,
  texts[3] AS industry_category,
  texts[1] AS classification,
  texts[2] AS country_code,
  ifNull(first_timestamp, first_received) AS first_seen,
  ifNull(last_timestamp, first_received) AS last_seen,
  sums.events AS events,
  numbers.visits AS visits,
  numbers.unique_ips AS unique_ips,
  ranked % 256 AS quality,
  sums.accounts AS accounts,
  shown.tags AS tags,
  shown.owner AS owner,
  shown.note AS note,
  shown.status AS status,
  shown.own AS own,
  numbers.recency + numbers.frequency + numbers.depth + numbers.intent AS heat
FROM
(
  SELECT
    tenant_id,
    transform(concat(tenant_id, '\0', part_id), merged.1, merged.2, part_id) AS company_id,
    sum(part_events) AS events,
    uniqExact(transform(concat(tenant_id, '\0', account_id), merged.1, merged.2, account_id)) AS accounts,
    min(part_first) AS first_timestamp,
    max(part_last) AS last_timestamp,
    min(part_received) AS first_received,
    argMax(part_ranked, (part_id = company_id, part_ranked)) AS ranked,
    argMax(part_texts, (part_id = company_id, part_ranked)) AS texts
  FROM
  (
    SELECT
      tenant_id,
      any(events.company_id) AS part_id,
      account_id,
      count() AS part_events,
      minOrNullIf(timestamp, timestamp <= received_at + toIntervalDay(1)) AS part_first,
      maxOrNullIf(timestamp, timestamp <= received_at + toIntervalDay(1)) AS part_last,
      min(received_at) AS part_received,
      max(toUnixTimestamp64Milli(received_at) * 256 + quality) AS part_ranked,
      splitByChar('\x1f', finalizeAggregation(argMaxState(concat(classification, '\x1f', country_code, '\x1f', industry_category, '\x1f', industry, '\x1f', domain, '\x1f', org_name, '\x1f', business_name), toUnixTimestamp64Milli(received_at) * 256 + quality))) AS part_texts
    FROM events
    WHERE company > 0
    GROUP BY tenant_id, company, account_id
  )
  GROUP BY tenant_id, company_id
) AS sums
LEFT JOIN company_numbers AS numbers ON numbers.tenant_id = sums.tenant_id AND numbers.company = sipHash64(sums.company_id)
LEFT JOIN corrected_companies AS shown ON shown.tenant_id = sums.tenant_id AND shown.company_id = sums.company_id
WHERE NOT shown.is_hidden
COMMENT 'One row per organisation of a tenant, whatever account ids its events carry; as people corrected it';
