ALTER TABLE events
  ADD PROJECTION IF NOT EXISTS day_checks
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
  ADD PROJECTION IF NOT EXISTS page_names
  (
    SELECT tenant_id, page, count()
    GROUP BY tenant_id, page
  );

ALTER TABLE events DROP PROJECTION IF EXISTS account_sums, DROP PROJECTION IF EXISTS account_days;
