ALTER TABLE events
  ADD PROJECTION IF NOT EXISTS company_list
  (
    SELECT
      tenant_id,
      company_id,
      count(),
      minOrNullIf(timestamp, timestamp <= received_at + toIntervalDay(1)),
      maxOrNullIf(timestamp, timestamp <= received_at + toIntervalDay(1)),
      min(received_at),
      max(toUnixTimestamp64Milli(received_at) * 256 + quality),
      argMaxState(concat(classification, '\x1f', country_code, '\x1f', industry_category, '\x1f', industry, '\x1f', domain, '\x1f', org_name, '\x1f', business_name), toUnixTimestamp64Milli(received_at) * 256 + quality)
    GROUP BY tenant_id, company_id
  );

ALTER TABLE events MATERIALIZE PROJECTION IF EXISTS company_list;
