-- What people correct about companies (src/companies/corrections/). Rows are only added: the newest row of a company and a field holds,
-- so a correction changes the past and the future at once, and events stay as they are.
CREATE TABLE IF NOT EXISTS company_corrections
(
  tenant_id String COMMENT 'Tenant',
  company_id String COMMENT 'Organisation that is corrected',
  field LowCardinality(String) COMMENT 'What is corrected: hidden (yes, or empty), name, merged_into (company_id as a person said it), note, tags (one a line), owner; counts_for follows from merged_into: the company_id at the end of the chain',
  at DateTime64(3, 'UTC') COMMENT 'When; the newest row of a company and a field holds',
  change_id String COMMENT 'The change that it belongs to; one change may correct many companies',
  value String COMMENT 'Corrected value; empty when there is no correction any more',
  before String COMMENT 'Value that held before',
  by String COMMENT 'Who corrected it: the person who was signed in, or command line',
  undoes String COMMENT 'The change that this one takes back; empty for others'
)
ENGINE = MergeTree
ORDER BY (tenant_id, company_id, field, at, change_id)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Corrections of companies by people, oldest to newest; corrected_companies has what holds now';

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
GROUP BY tenant_id, company_id
COMMENT 'What holds now of the corrections by people: one row per company that was ever corrected';

-- Every company that a correction concerns, merge targets too. The views below have two halves: companies that no correction concerns, as
-- before, and the others. So without corrections nothing is slower, and a query for one company or account still reads only its rows.
CREATE OR REPLACE VIEW concerned_companies
(
  tenant_id String COMMENT 'Tenant',
  company_id String COMMENT 'Organisation'
)
AS SELECT
  tenant_id,
  arrayJoin(if(field = 'counts_for' AND value != '', [company_corrections.company_id, value], [company_corrections.company_id])) AS company_id
FROM company_corrections
COMMENT 'Companies that a correction by people concerns, merge targets too; rows may repeat';

CREATE OR REPLACE VIEW concerned_accounts
(
  tenant_id String COMMENT 'Tenant',
  account_id String COMMENT 'Account: the sender''s, or else the organisation'
)
AS SELECT tenant_id, company_id AS account_id
FROM concerned_companies
UNION ALL
SELECT tenant_id, account_id
FROM events
WHERE company_id > '' AND (tenant_id, company_id) IN (SELECT tenant_id, company_id FROM concerned_companies)
GROUP BY tenant_id, account_id
COMMENT 'Accounts that a correction by people concerns: those with the id of a concerned company, and those with events of one; rows may repeat';

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
  note String COMMENT 'Note of a person'
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
    parts.tenant_id AS tenant_id,
    if(own.counts_for != '', own.counts_for, parts.company_id) AS company_id,
    uniqExact(if(account.counts_for != '', account.counts_for, account_id)) AS accounts,
    sum(account_events) AS events,
    min(account_first) AS first_timestamp,
    max(account_last) AS last_timestamp,
    min(account_received) AS first_received,
    uniqExactMerge(account_ips) AS unique_ips,
    uniqExactMerge(account_visits) AS visits,
    if(max(own.counts_for = ''), argMaxMergeIf(account_latest, own.counts_for = ''), argMaxMerge(account_latest)) AS latest
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
    WHERE company_id > '' AND (tenant_id, company_id) IN (SELECT tenant_id, company_id FROM concerned_companies)
    GROUP BY tenant_id, account_id, company_id
  ) AS parts
  LEFT JOIN corrected_companies AS own ON own.tenant_id = parts.tenant_id AND own.company_id = parts.company_id
  LEFT JOIN corrected_companies AS account ON account.tenant_id = parts.tenant_id AND account.company_id = parts.account_id
  GROUP BY tenant_id, company_id
) AS sums
LEFT JOIN corrected_companies AS shown ON shown.tenant_id = sums.tenant_id AND shown.company_id = sums.company_id
WHERE NOT shown.is_hidden
COMMENT 'One row per organisation of a tenant, whatever account ids its events carry; as people corrected it';
;

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
