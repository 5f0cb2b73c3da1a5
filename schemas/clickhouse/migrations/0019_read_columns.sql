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
  ADD COLUMN IF NOT EXISTS visitor UInt64 MATERIALIZED sipHash64(ip) COMMENT 'Number of the address: sipHash64 of ip',
  ADD COLUMN IF NOT EXISTS visit UInt64 ALIAS cityHash64(visitor, toDate32(timestamp)) COMMENT 'Visit that the event belongs to: a distinct visitor on a UTC day',
  ADD INDEX IF NOT EXISTS companies company TYPE bloom_filter(0.01) GRANULARITY 1,
  ADD PROJECTION IF NOT EXISTS company_sums
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
  ADD PROJECTION IF NOT EXISTS company_texts
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
      argMaxState(concat(classification, '\x1f', country_code, '\x1f', industry_category, '\x1f', industry, '\x1f', domain, '\x1f', org_name, '\x1f', business_name), toUnixTimestamp64Milli(received_at) * 256 + quality)
    GROUP BY tenant_id, company
  ) WITH SETTINGS (index_granularity = 256);

ALTER TABLE events MODIFY COLUMN url CODEC(ZSTD(1));

ALTER TABLE events
  MATERIALIZE COLUMN url, MATERIALIZE COLUMN page, MATERIALIZE COLUMN utm_source, MATERIALIZE COLUMN utm_campaign, MATERIALIZE COLUMN company, MATERIALIZE COLUMN visitor,
  MATERIALIZE INDEX IF EXISTS companies;
