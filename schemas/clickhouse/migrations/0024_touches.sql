-- The builder of days makes the projection for existing rows, the newest month first.
ALTER TABLE events
  MODIFY COLUMN referrer String MATERIALIZED
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
      ''),
  MODIFY COLUMN utm_medium LowCardinality(String) MATERIALIZED
    if(position(extra, '"utm_') > 0 OR position(properties, '"utm_') > 0 OR position(url, 'utm_') > 0,
      leftUTF8(multiIf(
        JSONType(extra, 'utm_medium') = 'String', JSONExtractString(extra, 'utm_medium'),
        JSONType(properties, 'utm_medium') = 'String', JSONExtractString(properties, 'utm_medium'),
        decodeURLFormComponent(extractURLParameter(url, 'utm_medium'))), 2048),
      ''),
  ADD COLUMN IF NOT EXISTS touch LowCardinality(String) MATERIALIZED
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
    COMMENT 'Where the visitor came from: source, medium and campaign with \\x1f between them, of the campaign, else of the click id of an advertisement, else of a referrer of another site. Three empty ones: directly. Empty when the event has no url' CODEC(ZSTD(1)) AFTER page,
  ADD PROJECTION IF NOT EXISTS company_touches
  (
    SELECT
      tenant_id,
      company,
      touch,
      minOrNullIf(timestamp, timestamp <= received_at + toIntervalDay(1)),
      maxOrNullIf(timestamp, timestamp <= received_at + toIntervalDay(1))
    GROUP BY tenant_id, company, touch
  ) WITH SETTINGS (index_granularity = 256) AFTER company_texts;

ALTER TABLE events MODIFY COLUMN referrer CODEC(ZSTD(1));

ALTER TABLE events
  MATERIALIZE COLUMN referrer, MATERIALIZE COLUMN utm_medium, MATERIALIZE COLUMN touch;
