CREATE OR REPLACE VIEW day_builds
(
  tenant_id String COMMENT 'Tenant',
  day Date32 COMMENT 'UTC day with events',
  built UInt64 COMMENT 'The build in entity_days whose numbers equal those of events; 0 when there is none'
)
AS SELECT
  now.tenant_id AS tenant_id,
  now.day AS day,
  maxIf(stored.built, stored.n = now.n AND stored.c = now.c AND stored.account_n = now.n AND stored.account_c = now.c) AS built
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
LEFT JOIN
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
GROUP BY tenant_id, day
COMMENT 'Which build of entity_days counts on each day';

CREATE OR REPLACE VIEW valid_days
(
  tenant_id String COMMENT 'Tenant',
  day Date32 COMMENT 'UTC day',
  built UInt64 COMMENT 'The build in entity_days whose numbers equal those of events'
)
AS SELECT tenant_id, day, built
FROM day_builds
WHERE built > 0
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

-- One scalar subquery says which days are read from where: with two, a day that is built in between could count twice or not at all. It has
-- all tenants, so it names builds by a hash of 8 bytes.
CREATE OR REPLACE VIEW visit_days
(
  tenant_id String COMMENT 'Tenant',
  day Date32 COMMENT 'UTC day of the timestamps',
  kind String COMMENT 'company, account, or both: a company whose events as an account are the same',
  entity_id String COMMENT 'company_id or account_id; empty when none is known',
  entity UInt64 COMMENT 'Its number: sipHash64 of entity_id; 0 when none is known',
  events UInt64 COMMENT 'Events',
  visits UInt64 COMMENT 'Visits',
  visitors Array(UInt64) COMMENT 'Visitors, as in events'
)
AS WITH (SELECT (groupArrayIf(cityHash64(tenant_id, day, built), built > 0), groupArrayIf((tenant_id, day), built = 0)) FROM day_builds) AS known
SELECT toString(tenant_id) AS tenant_id, day, toString(kind) AS kind, entity_id, entity, toUInt64(events) AS events, toUInt64(visits) AS visits, visitors
FROM entity_days
WHERE cityHash64(toString(entity_days.tenant_id), day, built) IN (SELECT arrayJoin(known.1))
UNION ALL
WITH (SELECT (groupArrayIf(cityHash64(tenant_id, day, built), built > 0), groupArrayIf((tenant_id, day), built = 0)) FROM day_builds) AS known
SELECT
  tenant_id,
  toDate32(timestamp) AS day,
  kind,
  if(kind = 'company', company_id, account_id) AS entity_id,
  if(kind = 'company', company, if(account_id = '', 0, sipHash64(account_id))) AS entity,
  count() AS events,
  uniqExact(visit) AS visits,
  groupUniqArray(visitor) AS visitors
FROM events
ARRAY JOIN ['company', 'account'] AS kind
WHERE (tenant_id, toDate32(timestamp)) IN (SELECT live.1, live.2 FROM (SELECT arrayJoin(known.2) AS live))
GROUP BY tenant_id, day, kind, entity_id, entity
COMMENT 'One row per company and per account and UTC day, before corrections by people';

CREATE OR REPLACE VIEW zone_day_builds
(
  tenant_id String COMMENT 'Tenant',
  day Date32 COMMENT 'UTC day with events',
  built UInt64 COMMENT 'The newest build in zone_days whose numbers equal those of events; 0 when there is none',
  zone String COMMENT 'Time zone of this build'
)
AS SELECT
  now.tenant_id AS tenant_id,
  now.day AS day,
  maxIf(stored.built, stored.n = now.n AND stored.c = now.c) AS built,
  toString(argMaxIf(stored.zone, stored.built, stored.n = now.n AND stored.c = now.c)) AS zone
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
LEFT JOIN
(
  SELECT
    tenant_id,
    day,
    built,
    zone,
    sum(events) AS n,
    sum(check) AS c
  FROM zone_days
  GROUP BY tenant_id, day, built, zone
) AS stored ON stored.tenant_id = now.tenant_id AND stored.day = now.day
GROUP BY tenant_id, day
COMMENT 'Which build of zone_days counts on each UTC day';

CREATE OR REPLACE VIEW valid_zone_days
(
  tenant_id String COMMENT 'Tenant',
  day Date32 COMMENT 'UTC day',
  built UInt64 COMMENT 'The newest build in zone_days whose numbers equal those of events',
  zone String COMMENT 'Time zone of this build'
)
AS SELECT tenant_id, day, built, zone
FROM zone_day_builds
WHERE built > 0
COMMENT 'UTC days of zone_days that count';

-- A day on which no company saw a page is proved by having no rows, in every zone.
CREATE OR REPLACE VIEW valid_zone_page_days
(
  tenant_id String COMMENT 'Tenant',
  day Date32 COMMENT 'UTC day',
  built UInt64 COMMENT 'The newest build in zone_page_days whose numbers equal those of events; 0 when there is nothing to build',
  zone String COMMENT 'Time zone of this build; empty when there is nothing to build'
)
AS SELECT
  now.tenant_id AS tenant_id,
  now.day AS day,
  maxIf(stored.built, stored.n = now.n AND stored.c = now.c) AS built,
  toString(argMaxIf(stored.zone, stored.built, stored.n = now.n AND stored.c = now.c)) AS zone
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
    zone,
    sum(events) AS n,
    sum(check) AS c
  FROM zone_page_days
  GROUP BY tenant_id, day, built, zone
) AS stored ON stored.tenant_id = now.tenant_id AND stored.day = now.day
WHERE now.n = 0 OR (stored.n = now.n AND stored.c = now.c)
GROUP BY tenant_id, day
COMMENT 'UTC days of zone_page_days that count';
