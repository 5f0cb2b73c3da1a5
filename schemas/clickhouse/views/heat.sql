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

-- The one place that says which pages of events show an intent to buy.
CREATE OR REPLACE VIEW read_intent_pages
(
  tenant_id String COMMENT 'Tenant',
  page String COMMENT 'A page of its events, as in events'
)
AS SELECT
  names.tenant_id AS tenant_id,
  page
FROM
(
  SELECT tenant_id, page
  FROM events
  WHERE page > ''
  GROUP BY tenant_id, page
) AS names
LEFT JOIN
(
  SELECT
    tenant_id,
    concat('(?i)(^|[^\\pL\\pN])(', arrayStringConcat(arrayMap(each -> arrayStringConcat(extractAll(each, '[\\pL\\pN]+'), '[^\\pL\\pN]+'), pages), '|'), ')([^\\pL\\pN]|$)') AS pattern
  FROM intent_pages
) AS own ON own.tenant_id = names.tenant_id
WHERE match(
  decodeURLComponent(substring(page, position(page, '/'))),
  if(own.pattern = '', '(?i)(^|[^\\pL\\pN])(pricing|prices|plans|demo|contact|signup|sign[^\\pL\\pN]+up|register|trial|book|booking|buy|checkout|quote)([^\\pL\\pN]|$)', own.pattern))
COMMENT 'Pages in events that are intent pages of their tenant: its own, or else the default ones';

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
