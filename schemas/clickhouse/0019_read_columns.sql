-- What pages read of an event, stored: ClickHouse computes it at the insert, so no sender, backup or replay needs to know these columns. It
-- computes them for existing rows in the background; until then, when a query reads them.
--
-- url: the others are computed from it, and a mutation refuses to compute a column from one that is not stored.
-- page: ids, UUIDs and long numbers in a path become *, because a page that everybody has for himself is no page, and because few distinct
-- pages are read fast. In their order: a UUID; hexadecimal digits; a ULID; the id of an API, such as cus_NffrFeUfNV2Hib; a number.
-- company_sums: names, times and counts of companies and accounts, for lists and views. The attributes are one string, which is read five
-- times as fast as a tuple; free texts come last in it.
-- company, visitor: numbers are compared and counted several times as fast as texts.
ALTER TABLE events
  MODIFY COLUMN url String MATERIALIZED
    if(multiSearchAny(extra, ['url"', '"page_location"', '"path"']) OR multiSearchAny(properties, ['url"', '"page_location"', '"path"']),
      leftUTF8(cutFragment(multiIf(
        JSONType(extra, 'url') = 'String', JSONExtractString(extra, 'url'),
        JSONType(extra, 'page_url') = 'String', JSONExtractString(extra, 'page_url'),
        JSONType(extra, 'page_location') = 'String', JSONExtractString(extra, 'page_location'),
        JSONType(extra, '$current_url') = 'String', JSONExtractString(extra, '$current_url'),
        JSONType(extra, 'path') = 'String', JSONExtractString(extra, 'path'),
        JSONType(properties, 'url') = 'String', JSONExtractString(properties, 'url'),
        JSONType(properties, 'page_url') = 'String', JSONExtractString(properties, 'page_url'),
        JSONType(properties, 'page_location') = 'String', JSONExtractString(properties, 'page_location'),
        JSONType(properties, '$current_url') = 'String', JSONExtractString(properties, '$current_url'),
        JSONType(properties, 'path') = 'String', JSONExtractString(properties, 'path'),
        '')), 2048),
      ''),
  ADD COLUMN IF NOT EXISTS page LowCardinality(String) MATERIALIZED
    if(url = '', '', concat(
      if(position(url, '://') > 0, domainWithoutWWW(url), if(startsWith(url, '/'), '', '/')),
      replaceRegexpAll(
        if(position(url, '://') > 0, if(path(url) = '', '/', path(url)), cutQueryString(url)),
        '\\b(?:[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}|[0-9A-Fa-f]{16,}|[0-7][0-9A-HJKMNP-TV-Z]{25}|[a-z]{2,8}_[0-9A-Za-z]{14,}|[0-9]{7,})\\b',
        '*')))
    COMMENT 'Page of the event: host without www. and path of url, with * for ids in the path; begins with / when url names no host; empty when there is no url' CODEC(ZSTD(1)),
  MODIFY COLUMN utm_source LowCardinality(String) MATERIALIZED
    if(position(extra, '"utm_') > 0 OR position(properties, '"utm_') > 0 OR position(url, 'utm_') > 0,
      leftUTF8(multiIf(
        JSONType(extra, 'utm_source') = 'String', JSONExtractString(extra, 'utm_source'),
        JSONType(properties, 'utm_source') = 'String', JSONExtractString(properties, 'utm_source'),
        decodeURLFormComponent(extractURLParameter(url, 'utm_source'))), 2048),
      ''),
  MODIFY COLUMN utm_campaign LowCardinality(String) MATERIALIZED
    if(position(extra, '"utm_') > 0 OR position(properties, '"utm_') > 0 OR position(url, 'utm_') > 0,
      leftUTF8(multiIf(
        JSONType(extra, 'utm_campaign') = 'String', JSONExtractString(extra, 'utm_campaign'),
        JSONType(properties, 'utm_campaign') = 'String', JSONExtractString(properties, 'utm_campaign'),
        decodeURLFormComponent(extractURLParameter(url, 'utm_campaign'))), 2048),
      ''),
  ADD COLUMN IF NOT EXISTS company UInt64 MATERIALIZED if(company_id = '', 0, sipHash64(company_id)) COMMENT 'Number of the organisation: sipHash64 of company_id; 0 when none is known',
  ADD COLUMN IF NOT EXISTS visitor UInt64 MATERIALIZED sipHash64(ip) COMMENT 'Number of the address: sipHash64 of ip. A visit is a distinct visitor on a UTC day',
  ADD INDEX IF NOT EXISTS companies company TYPE bloom_filter(0.01) GRANULARITY 1,
  ADD PROJECTION IF NOT EXISTS company_sums
  (
    SELECT
      tenant_id,
      company,
      company_id,
      account_id,
      toYYYYMM(received_at),
      count(),
      minOrNullIf(timestamp, timestamp <= received_at + toIntervalDay(1)),
      maxOrNullIf(timestamp, timestamp <= received_at + toIntervalDay(1)),
      min(received_at),
      max(toUnixTimestamp64Milli(received_at) * 256 + quality),
      argMaxState(concat(classification, '\x1f', country_code, '\x1f', industry_category, '\x1f', industry, '\x1f', domain, '\x1f', org_name, '\x1f', business_name), toUnixTimestamp64Milli(received_at) * 256 + quality)
    GROUP BY tenant_id, company, company_id, account_id, toYYYYMM(received_at)
  );

ALTER TABLE events MODIFY COLUMN url CODEC(ZSTD(1));

ALTER TABLE events
  MATERIALIZE COLUMN url, MATERIALIZE COLUMN page, MATERIALIZE COLUMN utm_source, MATERIALIZE COLUMN utm_campaign, MATERIALIZE COLUMN company, MATERIALIZE COLUMN visitor,
  MATERIALIZE INDEX IF EXISTS companies;

ALTER TABLE events MATERIALIZE PROJECTION IF EXISTS company_sums;

ALTER TABLE events DROP PROJECTION IF EXISTS company_list;

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
