-- The builder of days makes the projections of 0019 and of this file for existing rows, the newest month first. Then it drops those that they
-- replace: account_days, account_sums, company_list.
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

DROP VIEW IF EXISTS concerned_accounts;

DROP VIEW IF EXISTS concerned_companies;
