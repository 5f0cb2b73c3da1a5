CREATE OR REPLACE VIEW valid_days
(
  tenant_id String COMMENT 'Tenant',
  day Date32 COMMENT 'UTC day',
  built UInt64 COMMENT 'The build in entity_days whose numbers equal those of events'
)
AS SELECT
  now.tenant_id AS tenant_id,
  now.day AS day,
  max(stored.built) AS built
FROM
(
  SELECT
    tenant_id,
    toDate32(timestamp) AS day,
    count() AS n,
    sum(cityHash64(account_id, company_id, ip, timestamp, page)) AS c
  FROM events
  GROUP BY tenant_id, day
) AS now
INNER JOIN
(
  SELECT
    tenant_id,
    day,
    built,
    sumIf(events, kind != 'account') AS n,
    sumIf(check, kind != 'account') AS c,
    sumIf(events, kind != 'company') AS account_n,
    sumIf(check, kind != 'company') AS account_c
  FROM entity_days
  GROUP BY tenant_id, day, built
) AS stored ON stored.tenant_id = now.tenant_id AND stored.day = now.day
WHERE stored.n = now.n AND stored.c = now.c AND stored.account_n = now.n AND stored.account_c = now.c
GROUP BY tenant_id, day
COMMENT 'Days of entity_days that count';

-- A day on which no company saw a page is proved by having no rows.
CREATE OR REPLACE VIEW valid_page_days
(
  tenant_id String COMMENT 'Tenant',
  day Date32 COMMENT 'UTC day',
  built UInt64 COMMENT 'The build in page_days whose numbers equal those of events; 0 when there is nothing to build'
)
AS SELECT
  now.tenant_id AS tenant_id,
  now.day AS day,
  maxIf(stored.built, stored.n = now.n AND stored.c = now.c) AS built
FROM
(
  SELECT
    tenant_id,
    toDate32(timestamp) AS day,
    countIf(page > '' AND company_id > '') AS n,
    sumIf(cityHash64(account_id, company_id, ip, timestamp, page), page > '' AND company_id > '') AS c
  FROM events
  GROUP BY tenant_id, day
) AS now
LEFT JOIN
(
  SELECT
    tenant_id,
    day,
    built,
    sum(events) AS n,
    sum(check) AS c
  FROM page_days
  GROUP BY tenant_id, day, built
) AS stored ON stored.tenant_id = now.tenant_id AND stored.day = now.day
WHERE now.n = 0 OR (stored.n = now.n AND stored.c = now.c)
GROUP BY tenant_id, day
COMMENT 'Days of page_days that count';
