-- A list of all companies of a tenant, sorted and searched as the dashboard shows it, without the sets of addresses and visits
-- that account_sums carries: of 10 million events of 100,000 companies in 18 parts it takes 0.9 s of CPU, where companies takes 6.
-- Names and the rest are one string, which is read five times faster than a tuple; the free texts come last in it. Built for
-- rows that are there by a work of ClickHouse's own in the background; until then they are read.
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
