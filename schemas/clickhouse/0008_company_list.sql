-- For the dashboard's list of companies: without the sets of addresses and visits of account_sums. For 10 million events of 100,000
-- companies in 18 parts, it takes 0.9 s of CPU; `companies` takes 6. The attributes are one string, which is read five times faster
-- than a tuple; free texts come last in it. ClickHouse builds it for existing rows in the background; until then queries read them.
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
