-- One row per event, in the column order of schemas/row.ts. Partitions follow the time of receipt: a backfill spans many
-- years by `timestamp`, but arrives within a month or two. Rows of the same insert token are stored once.
--
-- Projections are in the same data part as their rows, so after a crash both exist or neither does. A separate table of sums could not
-- guarantee this.
-- company_sums: names, times and counts of companies and accounts. The attributes are one string, which is read five times as fast as a
--   tuple; free texts come last in it. Names follow the time of receipt, then the quality. A timestamp more than a day ahead of its receipt
--   does not count for first_seen and last_seen.
-- company_texts: the same for lookups of a few companies. company_sums would read 8,192 rows for each. ClickHouse prefers the projection with
--   fewer marks, also when its marks have more rows. So the attributes here are in the opposite order, and only lookups match it.
-- company_touches: when each company came from where (src/companies/touches.ts). A company has few touches, so it is read for all of them.
-- day_checks: whether the stored numbers of a day are those of its events (src/days/README.md). page_names: which pages there are.
-- named_days: the counts of stored events for `daily_outcomes`, and how many of them have a company (src/operations/accuracy/named.ts). It is the
--   first, because ClickHouse takes the first of those that fit, and it is the smallest.
-- source_hours: for the health of sources (src/tenants/sources/counts.ts), so that it reads a few rows per source and hour.
--
-- The key is tenant, day, account: queries ask for a day, or for an account, which has a few thousand rows per day. Tables from before
-- the migration 0003 keep their key, (tenant_id, account_id): schemas/README.md, Changes of the schema.
-- event_id: ZSTD stores a UUID in 16 bytes, LZ4 in 31. The index is for GET /v1/events/{event_id}.
-- min_bytes_for_wide_part: a part with one file per column has about a hundred files here, because of the projections. Each full insert
--   writes a part, and the file system took a quarter of ClickHouse's time. Parts below 64 MiB, which are merged soon, have one file
--   for all columns. Reading one column still does not read the others.
--
-- Page and campaign: sources put them among the top-level keys of an event; people who send events themselves put them there or into
-- `properties`. A search of the text comes first, because parsing JSON costs more. ALIAS columns are computed when a query reads them, so an
-- insert costs nothing more. Pages of the dashboard read the MATERIALIZED ones, which ClickHouse computes at the insert. So no sender, backup
-- or replay needs to know either.
-- url: stored, because ClickHouse cannot compute a MATERIALIZED column from an ALIAS column in a mutation.
-- page: ids in a path become *, so that a page with an id for each visitor counts as one page, and because few distinct pages are read
--   fast. The pattern has, in this order: a UUID; hexadecimal digits; a ULID; the id of an API, such as cus_NffrFeUfNV2Hib; a number.
-- touch: what the channel of a company follows from. It is kept as source, medium and campaign, so that another grouping of channels
--   needs no new column.
-- company, visitor: numbers are compared and counted several times as fast as texts.
-- known_domain: the truth of a tenant's own sign-ups, which attributions are checked with. An event with a browser key, which is in
--   public pages, is not evidence (src/operations/accuracy/README.md, Evidence).
CREATE TABLE IF NOT EXISTS events
(
  ip String COMMENT 'Address of the visitor, canonical text; IPv4-mapped IPv6 is written as IPv4. Of tenants that do not keep addresses, a pseudonym of address and UTC day: #, and 16 hexadecimal digits, behind the network when that is kept',
  tenant_id String COMMENT 'Tenant',
  event_id String COMMENT 'Identifier of the event within its tenant: the sender''s, or a UUID that was made' CODEC(ZSTD(1)),
  received_at DateTime64(3, 'UTC') COMMENT 'When the event was received, UTC milliseconds',
  timestamp DateTime64(3, 'UTC') COMMENT 'When it happened, as the sender says, UTC milliseconds; else received_at',
  event_type String COMMENT 'Label of the sender''s',
  session_id Nullable(Int64) COMMENT 'Session, as the sender says; NULL when he does not',
  platform String COMMENT 'Label of the sender''s, such as web',
  properties String COMMENT 'JSON as it was sent; empty when it was not',
  user_properties String COMMENT 'JSON as it was sent; empty when it was not',
  extra String COMMENT 'JSON object of all other keys, as they were sent; empty when there are none',
  account_id String COMMENT 'Account: the sender''s, or else company_id; empty when neither is known',
  company_id String COMMENT 'Organisation behind the address: its domain, or else a slug of its name; empty when none is known',
  business_name String COMMENT 'Name that the organisation is known by',
  org_name String COMMENT 'Name of the organisation in full',
  hostname String COMMENT 'Host name of the address; empty for tenants that do not keep addresses',
  domain String COMMENT 'Domain of the organisation',
  industry String COMMENT 'Industry of the organisation',
  industry_category String COMMENT 'Group of industries',
  classification String COMMENT 'Class of the organisation: business, education or government; empty when nothing speaks for one',
  country_code String COMMENT 'Country, ISO 3166-1 alpha-2',
  asn UInt32 COMMENT 'Number of the autonomous system that announces the address; 0 when it is not known',
  as_name String COMMENT 'Name of that autonomous system',
  quality UInt8 COMMENT 'How much is known of the address, 0 to 100',
  job_id LowCardinality(String) DEFAULT '' COMMENT 'Batch job that brought the event; empty for live events, and for those stored before there was this column',
  request_id String DEFAULT '' COMMENT 'x-request-id of the request that brought the event; empty for lines of a batch job, and for events stored before there was this column' CODEC(ZSTD(1)),
  source_id LowCardinality(String) DEFAULT '' COMMENT 'Source whose key brought the event; empty when an API key did',
  known_domain LowCardinality(String) DEFAULT '' COMMENT 'Registrable domain of the work e-mail address that came with the event; empty without one, and for free and disposable mail',
  browser_key UInt8 DEFAULT 0 COMMENT '0: the event came with an API key or a server key. 1: with a browser key, so that what it says of its visitor proves nothing. 2: as 1, and it has a work e-mail address',
  lane String ALIAS if(job_id = '', 'live', 'batch') COMMENT 'live, or batch: see job_id',
  url String MATERIALIZED
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
      '') COMMENT 'Page of the event without its fragment, at most 2,048 characters: the first text of url, page_url, page_location, $current_url and path, among its top-level keys, else among its properties; empty when there is none' CODEC(ZSTD(1)),
  referrer String MATERIALIZED
    if(multiSearchAny(extra, ['referrer"', '"referer"']) OR multiSearchAny(properties, ['referrer"', '"referer"']),
      leftUTF8(multiIf(
        JSONType(extra, 'referrer') = 'String', JSONExtractString(extra, 'referrer'),
        JSONType(extra, 'referer') = 'String', JSONExtractString(extra, 'referer'),
        JSONType(extra, 'page_referrer') = 'String', JSONExtractString(extra, 'page_referrer'),
        JSONType(extra, '$referrer') = 'String' AND JSONExtractString(extra, '$referrer') != '$direct', JSONExtractString(extra, '$referrer'),
        JSONType(properties, 'referrer') = 'String', JSONExtractString(properties, 'referrer'),
        JSONType(properties, 'referer') = 'String', JSONExtractString(properties, 'referer'),
        JSONType(properties, 'page_referrer') = 'String', JSONExtractString(properties, 'page_referrer'),
        JSONType(properties, '$referrer') = 'String' AND JSONExtractString(properties, '$referrer') != '$direct', JSONExtractString(properties, '$referrer'),
        ''), 2048),
      '') COMMENT 'Page that the visitor came from: the first text of referrer, referer, page_referrer and $referrer, as for url' CODEC(ZSTD(1)),
  utm_source LowCardinality(String) MATERIALIZED
    if(position(extra, '"utm_') > 0 OR position(properties, '"utm_') > 0 OR position(url, 'utm_') > 0,
      leftUTF8(multiIf(
        JSONType(extra, 'utm_source') = 'String', JSONExtractString(extra, 'utm_source'),
        JSONType(properties, 'utm_source') = 'String', JSONExtractString(properties, 'utm_source'),
        decodeURLFormComponent(extractURLParameter(url, 'utm_source'))), 2048),
      '') COMMENT 'Site or sender that the visitors of a campaign come from: utm_source of the event, as for url, or else of the query of url',
  utm_medium LowCardinality(String) MATERIALIZED
    if(position(extra, '"utm_') > 0 OR position(properties, '"utm_') > 0 OR position(url, 'utm_') > 0,
      leftUTF8(multiIf(
        JSONType(extra, 'utm_medium') = 'String', JSONExtractString(extra, 'utm_medium'),
        JSONType(properties, 'utm_medium') = 'String', JSONExtractString(properties, 'utm_medium'),
        decodeURLFormComponent(extractURLParameter(url, 'utm_medium'))), 2048),
      '') COMMENT 'Medium of the campaign, such as email: see utm_source',
  utm_campaign LowCardinality(String) MATERIALIZED
    if(position(extra, '"utm_') > 0 OR position(properties, '"utm_') > 0 OR position(url, 'utm_') > 0,
      leftUTF8(multiIf(
        JSONType(extra, 'utm_campaign') = 'String', JSONExtractString(extra, 'utm_campaign'),
        JSONType(properties, 'utm_campaign') = 'String', JSONExtractString(properties, 'utm_campaign'),
        decodeURLFormComponent(extractURLParameter(url, 'utm_campaign'))), 2048),
      '') COMMENT 'Name of the campaign: see utm_source',
  utm_term LowCardinality(String) ALIAS
    if(position(extra, '"utm_') > 0 OR position(properties, '"utm_') > 0 OR position(url, 'utm_') > 0,
      leftUTF8(multiIf(
        JSONType(extra, 'utm_term') = 'String', JSONExtractString(extra, 'utm_term'),
        JSONType(properties, 'utm_term') = 'String', JSONExtractString(properties, 'utm_term'),
        decodeURLFormComponent(extractURLParameter(url, 'utm_term'))), 2048),
      '') COMMENT 'Search term of the campaign: see utm_source',
  utm_content LowCardinality(String) ALIAS
    if(position(extra, '"utm_') > 0 OR position(properties, '"utm_') > 0 OR position(url, 'utm_') > 0,
      leftUTF8(multiIf(
        JSONType(extra, 'utm_content') = 'String', JSONExtractString(extra, 'utm_content'),
        JSONType(properties, 'utm_content') = 'String', JSONExtractString(properties, 'utm_content'),
        decodeURLFormComponent(extractURLParameter(url, 'utm_content'))), 2048),
      '') COMMENT 'Variant of the campaign: see utm_source',
  page LowCardinality(String) MATERIALIZED
    if(url = '', '', concat(
      if(position(url, '://') > 0, domainWithoutWWW(url), if(startsWith(url, '/'), '', '/')),
      replaceRegexpAll(
        if(position(url, '://') > 0, if(path(url) = '', '/', path(url)), cutQueryString(url)),
        '\\b(?:[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}|[0-9A-Fa-f]{16,}|[0-7][0-9A-HJKMNP-TV-Z]{25}|[a-z]{2,8}_[0-9A-Za-z]{14,}|[0-9]{7,})\\b',
        '*')))
    COMMENT 'Page of the event: host without www. and path of url, with * for ids in the path; begins with / when url names no host; empty when there is no url' CODEC(ZSTD(1)),
  touch LowCardinality(String) MATERIALIZED
    multiIf(
      url = '', '',
      (utm_source != '' OR utm_medium != '')
        AND NOT (lowerUTF8(utm_source) IN ('', 'direct', '(direct)') AND lowerUTF8(utm_medium) IN ('', '(none)', '(not set)') AND utm_campaign = ''),
        concat(lowerUTF8(leftUTF8(utm_source, 100)), '\x1f', lowerUTF8(leftUTF8(utm_medium, 100)), '\x1f', leftUTF8(utm_campaign, 200)),
      multiSearchAny(url, ['?gclid=', '&gclid=', '?gbraid=', '&gbraid=', '?wbraid=', '&wbraid=']), concat('google\x1fcpc\x1f', leftUTF8(utm_campaign, 200)),
      multiSearchAny(url, ['?dclid=', '&dclid=']), concat('dv360\x1fcpm\x1f', leftUTF8(utm_campaign, 200)),
      multiSearchAny(url, ['?msclkid=', '&msclkid=']), concat('bing\x1fcpc\x1f', leftUTF8(utm_campaign, 200)),
      multiSearchAny(url, ['?li_fat_id=', '&li_fat_id=']), concat('linkedin\x1fcpc\x1f', leftUTF8(utm_campaign, 200)),
      utm_campaign != '', concat('\x1f\x1f', leftUTF8(utm_campaign, 200)),
      domain(url) != '' AND domainWithoutWWW(referrer) != '' AND cutToFirstSignificantSubdomain(referrer) != cutToFirstSignificantSubdomain(url),
        concat(lowerUTF8(leftUTF8(domainWithoutWWW(referrer), 100)), '\x1freferral\x1f'),
      '\x1f\x1f')
    COMMENT 'Where the visitor came from: source, medium and campaign with \\x1f between them, of the campaign, else of the click id of an advertisement, else of a referrer of another site. Three empty ones: directly. Empty when the event has no url' CODEC(ZSTD(1)),
  company UInt64 MATERIALIZED if(company_id = '', 0, sipHash64(company_id)) COMMENT 'Number of the organisation: sipHash64 of company_id; 0 when none is known',
  visitor UInt64 MATERIALIZED sipHash64(ip) COMMENT 'Number of the address: sipHash64 of ip',
  visit UInt64 ALIAS cityHash64(visitor, toDate32(timestamp)) COMMENT 'Visit that the event belongs to: a distinct visitor on a UTC day',
  INDEX event_ids event_id TYPE bloom_filter(0.01) GRANULARITY 1,
  INDEX companies company TYPE bloom_filter(0.01) GRANULARITY 1,
  PROJECTION named_days
  (
    SELECT tenant_id, toDate32(received_at), job_id, classification, company > 0, count()
    GROUP BY tenant_id, toDate32(received_at), job_id, classification, company > 0
  ),
  PROJECTION source_hours
  (
    SELECT
      tenant_id,
      source_id,
      toStartOfHour(received_at),
      count(),
      max(received_at),
      min(ip),
      max(ip),
      quantileBFloat16State(dateDiff('second', timestamp, received_at))
    GROUP BY tenant_id, source_id, toStartOfHour(received_at)
  ),
  PROJECTION company_sums
  (
    SELECT
      tenant_id,
      company,
      account_id,
      toYYYYMM(received_at),
      any(company_id),
      count(),
      minOrNullIf(timestamp, timestamp <= received_at + toIntervalDay(1)),
      maxOrNullIf(timestamp, timestamp <= received_at + toIntervalDay(1)),
      min(received_at),
      max(toUnixTimestamp64Milli(received_at) * 256 + quality),
      argMaxState(concat(classification, '\x1f', country_code, '\x1f', industry_category, '\x1f', industry, '\x1f', domain, '\x1f', org_name, '\x1f', business_name), toUnixTimestamp64Milli(received_at) * 256 + quality)
    GROUP BY tenant_id, company, account_id, toYYYYMM(received_at)
  ),
  PROJECTION company_texts
  (
    SELECT
      tenant_id,
      company,
      any(company_id),
      count(),
      minOrNullIf(timestamp, timestamp <= received_at + toIntervalDay(1)),
      maxOrNullIf(timestamp, timestamp <= received_at + toIntervalDay(1)),
      min(received_at),
      max(toUnixTimestamp64Milli(received_at) * 256 + quality),
      argMaxState(concat(business_name, '\x1f', org_name, '\x1f', domain, '\x1f', industry, '\x1f', industry_category, '\x1f', country_code, '\x1f', classification), toUnixTimestamp64Milli(received_at) * 256 + quality)
    GROUP BY tenant_id, company
  ) WITH SETTINGS (index_granularity = 256),
  PROJECTION company_touches
  (
    SELECT
      tenant_id,
      company,
      touch,
      minOrNullIf(timestamp, timestamp <= received_at + toIntervalDay(1)),
      maxOrNullIf(timestamp, timestamp <= received_at + toIntervalDay(1))
    GROUP BY tenant_id, company, touch
  ) WITH SETTINGS (index_granularity = 256),
  PROJECTION day_checks
  (
    SELECT
      tenant_id,
      toDate32(timestamp),
      count(),
      sum(cityHash64(account_id, company_id, ip, timestamp, page)),
      countIf(page > '' AND company_id > ''),
      sumIf(cityHash64(account_id, company_id, ip, timestamp, page), page > '' AND company_id > '')
    GROUP BY tenant_id, toDate32(timestamp)
  ),
  PROJECTION page_names
  (
    SELECT tenant_id, page, count()
    GROUP BY tenant_id, page
  )
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(received_at)
ORDER BY (tenant_id, toDate32(timestamp), account_id)
SETTINGS non_replicated_deduplication_window = 10000, lightweight_mutation_projection_mode = 'rebuild', min_bytes_for_wide_part = 67108864
COMMENT 'One row per event that is kept, with what was found out about its address';
