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

-- The points of the parts of heat. A text that is no weights, such as one of a later version, means the default ones.
CREATE OR REPLACE VIEW heat_weights
(
  tenant_id String COMMENT 'Tenant',
  recency UInt8 COMMENT 'Points for an event today',
  frequency UInt8 COMMENT 'Points for events on 15 days or more',
  depth UInt8 COMMENT 'Points for 31 events a day or more',
  intent UInt8 COMMENT 'Points for intent pages on 7 days or more'
)
AS SELECT
  tenant_id,
  points[1] AS recency,
  points[2] AS frequency,
  points[3] AS depth,
  points[4] AS intent
FROM
(
  SELECT
    tenant_id,
    argMax(value, (at, change_id)) AS held,
    arrayMap(each -> toUInt16(each), extractAll(held, '[0-9]{1,3}')) AS points
  FROM company_corrections
  WHERE field = 'heat_weights' AND company_id = ''
  GROUP BY tenant_id
)
WHERE match(held, '^recency=[0-9]{1,3} frequency=[0-9]{1,3} depth=[0-9]{1,3} intent=[0-9]{1,3}$') AND arraySum(points) = 100
COMMENT 'Points of the parts of heat, of tenants that chose their own; other tenants have 30, 30, 15 and 25';

-- The numbers of a company that days make. `merged` has companies that are merged, and the ones that they count for; a tenant and a company
-- are one key. The visits of a merge are counted by their visitors, since one may visit several of its companies.
CREATE OR REPLACE VIEW company_numbers
(
  tenant_id String COMMENT 'Tenant',
  company UInt64 COMMENT 'Number of the organisation, after merges: sipHash64 of company_id',
  company_id String COMMENT 'Organisation, after merges',
  visits UInt64 COMMENT 'Visits',
  unique_ips UInt64 COMMENT 'Distinct addresses',
  active_days UInt8 COMMENT 'UTC days with events, of the last 30',
  days_ago UInt8 COMMENT 'How many days ago the last of them was',
  events_per_day Float64 COMMENT 'Events of each of them, on average',
  intent_days UInt8 COMMENT 'UTC days with an intent page, of the last 30',
  recency UInt8 COMMENT 'Part of the heat for the last day with an event: all of it today, half of it each week before',
  frequency UInt8 COMMENT 'Part for the days with events: all of it from 15 days on',
  depth UInt8 COMMENT 'Part for the events of these days: all of it from 31 a day on',
  intent UInt8 COMMENT 'Part for the days with an intent page: all of it from 7 days on'
)
AS WITH
  (
    SELECT
    (
      arrayPushBack(groupArray(cityHash64(tenant_id, sipHash64(company_id))), 0),
      arrayPushBack(groupArray(sipHash64(target_id)), 0),
      arrayPushBack(groupArray(target_id), '')
    )
    FROM merged_companies
  ) AS merged,
  (
    SELECT
    (
      arrayPushBack(groupArray(tenant_id), ''),
      arrayPushBack(groupArray(recency), 30),
      arrayPushBack(groupArray(frequency), 30),
      arrayPushBack(groupArray(depth), 15),
      arrayPushBack(groupArray(intent), 25)
    )
    FROM heat_weights
  ) AS weights
SELECT
  days.tenant_id AS tenant_id,
  days.company AS company,
  days.company_id AS company_id,
  days.visits AS visits,
  days.unique_ips AS unique_ips,
  bitCount(day_bits) AS active_days,
  bitCount(bitXor(day_bits, day_bits - 1)) - 1 AS days_ago,
  if(active_days = 0, 0, recent_events / active_days) AS events_per_day,
  bitCount(intents.intent_bits) AS intent_days,
  if(active_days = 0, 0, toUInt8(round(transform(days.tenant_id, weights.1, weights.2, 30) * exp2(-days_ago / 7)))) AS recency,
  toUInt8(round(transform(days.tenant_id, weights.1, weights.3, 30) * least(1, log2(1 + active_days) / 4))) AS frequency,
  toUInt8(round(transform(days.tenant_id, weights.1, weights.4, 15) * least(1, log2(1 + events_per_day) / 5))) AS depth,
  toUInt8(round(transform(days.tenant_id, weights.1, weights.5, 25) * least(1, log2(1 + intent_days) / 3))) AS intent
FROM
(
  SELECT
    tenant_id,
    transform(key, merged.1, merged.2, entity) AS company,
    transform(key, merged.1, merged.3, '') AS target_id,
    target_id != '' AS is_merged,
    if(is_merged, target_id, any(entity_id)) AS company_id,
    if(is_merged, uniqExactArray(arrayMap(visitor -> cityHash64(visitor, day), if(is_merged, visitors, []))), sum(visit_days.visits)) AS visits,
    uniqExactArray(visitors) AS unique_ips,
    groupBitOrIf(bitShiftLeft(toUInt32(1), toUInt8(ago)), ago >= 0 AND ago < 30) AS day_bits,
    sumIf(visit_days.events, ago >= 0 AND ago < 30) AS recent_events
  FROM (SELECT *, toInt32(toDate32(now('UTC'))) - toInt32(day) AS ago, cityHash64(tenant_id, entity) AS key FROM visit_days) AS visit_days
  WHERE kind != 'account' AND entity != 0
  GROUP BY tenant_id, company, target_id
) AS days
LEFT JOIN
(
  SELECT
    tenant_id,
    transform(cityHash64(tenant_id, events.company), merged.1, merged.2, events.company) AS target,
    groupBitOr(bitShiftLeft(toUInt32(1), toUInt8(toInt32(toDate32(now('UTC'))) - toInt32(toDate32(timestamp))))) AS intent_bits
  FROM events
  WHERE events.company != 0 AND toDate32(timestamp) > toDate32(now('UTC')) - 30 AND toDate32(timestamp) <= toDate32(now('UTC'))
    AND (tenant_id, page) IN (SELECT tenant_id, page FROM read_intent_pages)
  GROUP BY tenant_id, target
) AS intents ON intents.tenant_id = days.tenant_id AND intents.target = days.company
COMMENT 'Visits and heat of companies, hidden ones too';

CREATE OR REPLACE VIEW company_heat
(
  tenant_id String COMMENT 'Tenant',
  company_id String COMMENT 'Organisation, after merges',
  heat UInt8 COMMENT 'Interest of the last 30 UTC days, 0 to 100: the sum of the four parts',
  recency UInt8 COMMENT 'Part for the last day with an event: all of it today, half of it each week before',
  frequency UInt8 COMMENT 'Part for the days with events: all of it from 15 days on',
  depth UInt8 COMMENT 'Part for the events of these days: all of it from 31 a day on',
  intent UInt8 COMMENT 'Part for the days with an intent page: all of it from 7 days on',
  active_days UInt8 COMMENT 'UTC days with events',
  last_day Date32 COMMENT 'Last of them',
  events_per_day Float64 COMMENT 'Events of each of them, on average',
  intent_days UInt8 COMMENT 'UTC days with an intent page'
)
AS SELECT
  numbers.tenant_id AS tenant_id,
  company_id,
  recency + frequency + depth + intent AS heat,
  recency,
  frequency,
  depth,
  intent,
  active_days,
  toDate32(now('UTC')) - toIntervalDay(days_ago) AS last_day,
  events_per_day,
  intent_days
FROM company_numbers AS numbers
WHERE active_days > 0 AND (numbers.tenant_id, company_id) NOT IN (SELECT tenant_id, company_id FROM corrected_companies WHERE is_hidden)
COMMENT 'Heat of the companies with an event in the last 30 UTC days, and what it is made of';
