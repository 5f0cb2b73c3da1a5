ALTER TABLE events
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
  ADD INDEX IF NOT EXISTS companies company TYPE bloom_filter(0.01) GRANULARITY 1;

ALTER TABLE events
  MATERIALIZE COLUMN page, MATERIALIZE COLUMN utm_source, MATERIALIZE COLUMN utm_campaign, MATERIALIZE COLUMN company, MATERIALIZE COLUMN visitor,
  MATERIALIZE INDEX IF EXISTS companies;
