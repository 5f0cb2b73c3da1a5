-- Heat: how interested a company is, from its last 30 days (src/companies/README.md, Heat). Each part is rounded by itself, so that they add
-- up. The intent pages of a tenant are rows of the log of corrections without a company, so they need no table of their own.
CREATE OR REPLACE VIEW intent_pages
(
  tenant_id String COMMENT 'Tenant',
  pages Array(String) COMMENT 'Its intent pages: words of a path, such as pricing or book-a-demo'
)
AS SELECT
  tenant_id,
  arrayFilter(page -> match(page, '[\\pL\\pN]'), splitByChar('\n', argMax(value, (at, change_id)))) AS pages
FROM company_corrections
WHERE field = 'intent_pages' AND company_id = ''
GROUP BY tenant_id
HAVING notEmpty(pages)
COMMENT 'Pages that show an intent to buy, of tenants that chose their own; other tenants have the default ones';

CREATE OR REPLACE VIEW corrected_companies
(
  tenant_id String COMMENT 'Tenant',
  company_id String COMMENT 'Organisation',
  is_hidden Bool COMMENT 'Whether it is left out of accounts, companies, daily_visits and sessions',
  name String COMMENT 'Name that a person gave it; empty when none did',
  counts_for String COMMENT 'The company_id that its events count for; empty when it is not merged',
  note String COMMENT 'Note of a person',
  tags Array(String) COMMENT 'Tags, sorted',
  owner String COMMENT 'Person who looks after it'
)
AS SELECT
  tenant_id,
  company_id,
  argMaxIf(value, (at, change_id), field = 'hidden') != '' AS is_hidden,
  argMaxIf(value, (at, change_id), field = 'name') AS name,
  argMaxIf(value, (at, change_id), field = 'counts_for') AS counts_for,
  argMaxIf(value, (at, change_id), field = 'note') AS note,
  arrayFilter(tag -> tag != '', splitByChar('\n', argMaxIf(value, (at, change_id), field = 'tags'))) AS tags,
  argMaxIf(value, (at, change_id), field = 'owner') AS owner
FROM company_corrections
WHERE company_id != ''
GROUP BY tenant_id, company_id
COMMENT 'What holds now of the corrections by people: one row per company that was ever corrected';

CREATE OR REPLACE VIEW concerned_companies
(
  tenant_id String COMMENT 'Tenant',
  company_id String COMMENT 'Organisation'
)
AS SELECT
  tenant_id,
  arrayJoin(if(field = 'counts_for' AND value != '', [company_corrections.company_id, value], [company_corrections.company_id])) AS company_id
FROM company_corrections
WHERE company_corrections.company_id != ''
COMMENT 'Companies that a correction by people concerns, merge targets too; rows may repeat';

-- Reads the events of 30 days once, because this is faster than a projection and then the pages. ClickHouse folds each scalar subquery to
-- constants: merged has companies and the ones that they count for; wanted has tenants, their patterns of pages, and a pattern of words of
-- which each wanted page has one. ClickHouse computes `url` from JSON, which is slow, so a search for these words in the text comes first.
-- Too many words would make that search slow too, so then there is none.
CREATE OR REPLACE VIEW company_heat
(
  tenant_id String COMMENT 'Tenant',
  company_id String COMMENT 'Organisation, after merges',
  heat UInt8 COMMENT 'Interest of the last 30 UTC days, 0 to 100: the sum of the four parts',
  recency UInt8 COMMENT 'Part for the last day with an event: 30 today, half of it each week before',
  frequency UInt8 COMMENT 'Part for the days with events: 30 from 15 days on',
  depth UInt8 COMMENT 'Part for the events of these days: 15 from 31 a day on',
  intent UInt8 COMMENT 'Part for the days with an intent page: 25 from 7 days on',
  active_days UInt8 COMMENT 'UTC days with events',
  last_day Date32 COMMENT 'Last of them',
  events_per_day Float64 COMMENT 'Events of each of them, on average',
  intent_days UInt8 COMMENT 'UTC days with an intent page'
)
AS WITH
  (
    SELECT (groupArray(concat(tenant_id, '\0', company_id)), groupArray(counts_for))
    FROM corrected_companies
    WHERE counts_for != ''
  ) AS merged,
  (
    SELECT
    (
      groupArray(tenant_id),
      groupArray(pattern),
      if(length(groupUniqArrayArray(words) AS all_words) > 300, '', concat('(?i)', arrayStringConcat(arrayPushBack(all_words, '\\\\u'), '|')))
    )
    FROM
    (
      SELECT
        tenant_id,
        concat('(?i)(^|[^\\pL\\pN])(', arrayStringConcat(arrayMap(page -> arrayStringConcat(extractAll(page, '[\\pL\\pN]+'), '[^\\pL\\pN]+'), pages), '|'), ')([^\\pL\\pN]|$)') AS pattern,
        arrayMap(page -> arrayReverseSort(word -> length(word), arrayPushBack(extractAll(page, '[A-Za-z0-9]+'), '"'))[1], pages) AS words
      FROM
      (
        SELECT '' AS tenant_id, ['pricing', 'prices', 'plans', 'demo', 'contact', 'signup', 'sign-up', 'register', 'trial', 'book', 'booking', 'buy', 'checkout', 'quote'] AS pages
        UNION ALL
        SELECT tenant_id, pages
        FROM intent_pages
      )
      ORDER BY tenant_id
    )
  ) AS wanted
SELECT
  tenant_id,
  company_id,
  recency + frequency + depth + intent AS heat,
  toUInt8(round(30 * exp2(-dateDiff('day', last_day, toDate32(now('UTC'))) / 7))) AS recency,
  toUInt8(round(30 * least(1, log2(1 + active_days) / 4))) AS frequency,
  toUInt8(round(15 * least(1, log2(1 + events_per_day) / 5))) AS depth,
  toUInt8(round(25 * least(1, log2(1 + intent_days) / 3))) AS intent,
  bitCount(days) AS active_days,
  toDate32(now('UTC')) - toIntervalDay(bitCount(bitXor(days, days - 1)) - 1) AS last_day,
  events / active_days AS events_per_day,
  bitCount(intents) AS intent_days
FROM
(
  SELECT
    tenant_id,
    if(empty(merged.1), part_id, transform(concat(tenant_id, '\0', part_id), arrayPushBack(merged.1, ''), arrayPushBack(merged.2, ''), part_id)) AS company_id,
    groupBitOr(part_days) AS days,
    groupBitOr(part_intents) AS intents,
    sum(part_events) AS events
  FROM
  (
    SELECT
      tenant_id,
      company_id AS part_id,
      groupBitOr(bitShiftLeft(toUInt32(1), toUInt8(dateDiff('day', toDate32(timestamp), toDate32(now('UTC')))))) AS part_days,
      groupBitOrIf(
        bitShiftLeft(toUInt32(1), toUInt8(dateDiff('day', toDate32(timestamp), toDate32(now('UTC'))))),
        if(match(extra, wanted.3) OR match(properties, wanted.3),
          match(decodeURLComponent(if(position(url, '://') > 0, path(url), cutQueryString(url))), if(length(wanted.1) = 1, wanted.2[1], transform(tenant_id, wanted.1, wanted.2, wanted.2[1]))),
          0)
      ) AS part_intents,
      count() AS part_events
    FROM events
    WHERE company_id > '' AND toDate32(timestamp) > toDate32(now('UTC')) - toIntervalDay(30) AND toDate32(timestamp) <= toDate32(now('UTC'))
    GROUP BY tenant_id, company_id
  )
  GROUP BY tenant_id, company_id
)
WHERE (tenant_id, company_id) NOT IN (SELECT tenant_id, company_id FROM corrected_companies WHERE is_hidden)
COMMENT 'Heat of the companies with an event in the last 30 UTC days, and what it is made of';

-- Heat costs only the queries that ask for this column. Corrections take one join less than in 0015, because joins of views are slow to plan.
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
