ALTER TABLE events
  ADD COLUMN IF NOT EXISTS url String ALIAS
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
      '') COMMENT 'Page of the event without its fragment, at most 2,048 characters: the first text of url, page_url, page_location, $current_url and path, among its top-level keys, else among its properties; empty when there is none',
  ADD COLUMN IF NOT EXISTS referrer String ALIAS
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
      '') COMMENT 'Page that the visitor came from: the first text of referrer, referer, page_referrer and $referrer, as for url',
  ADD COLUMN IF NOT EXISTS utm_source LowCardinality(String) ALIAS
    if(position(extra, '"utm_') > 0 OR position(properties, '"utm_') > 0 OR position(url, 'utm_') > 0,
      leftUTF8(multiIf(
        JSONType(extra, 'utm_source') = 'String', JSONExtractString(extra, 'utm_source'),
        JSONType(properties, 'utm_source') = 'String', JSONExtractString(properties, 'utm_source'),
        decodeURLFormComponent(extractURLParameter(url, 'utm_source'))), 2048),
      '') COMMENT 'Site or sender that the visitors of a campaign come from: utm_source of the event, as for url, or else of the query of url',
  ADD COLUMN IF NOT EXISTS utm_medium LowCardinality(String) ALIAS
    if(position(extra, '"utm_') > 0 OR position(properties, '"utm_') > 0 OR position(url, 'utm_') > 0,
      leftUTF8(multiIf(
        JSONType(extra, 'utm_medium') = 'String', JSONExtractString(extra, 'utm_medium'),
        JSONType(properties, 'utm_medium') = 'String', JSONExtractString(properties, 'utm_medium'),
        decodeURLFormComponent(extractURLParameter(url, 'utm_medium'))), 2048),
      '') COMMENT 'Medium of the campaign, such as email: see utm_source',
  ADD COLUMN IF NOT EXISTS utm_campaign LowCardinality(String) ALIAS
    if(position(extra, '"utm_') > 0 OR position(properties, '"utm_') > 0 OR position(url, 'utm_') > 0,
      leftUTF8(multiIf(
        JSONType(extra, 'utm_campaign') = 'String', JSONExtractString(extra, 'utm_campaign'),
        JSONType(properties, 'utm_campaign') = 'String', JSONExtractString(properties, 'utm_campaign'),
        decodeURLFormComponent(extractURLParameter(url, 'utm_campaign'))), 2048),
      '') COMMENT 'Name of the campaign: see utm_source',
  ADD COLUMN IF NOT EXISTS utm_term LowCardinality(String) ALIAS
    if(position(extra, '"utm_') > 0 OR position(properties, '"utm_') > 0 OR position(url, 'utm_') > 0,
      leftUTF8(multiIf(
        JSONType(extra, 'utm_term') = 'String', JSONExtractString(extra, 'utm_term'),
        JSONType(properties, 'utm_term') = 'String', JSONExtractString(properties, 'utm_term'),
        decodeURLFormComponent(extractURLParameter(url, 'utm_term'))), 2048),
      '') COMMENT 'Search term of the campaign: see utm_source',
  ADD COLUMN IF NOT EXISTS utm_content LowCardinality(String) ALIAS
    if(position(extra, '"utm_') > 0 OR position(properties, '"utm_') > 0 OR position(url, 'utm_') > 0,
      leftUTF8(multiIf(
        JSONType(extra, 'utm_content') = 'String', JSONExtractString(extra, 'utm_content'),
        JSONType(properties, 'utm_content') = 'String', JSONExtractString(properties, 'utm_content'),
        decodeURLFormComponent(extractURLParameter(url, 'utm_content'))), 2048),
      '') COMMENT 'Variant of the campaign: see utm_source';
