-- Finished numbers of closed days, for pages that would count the same events again and again (src/days/README.md). A stored day counts
-- only if the number and the sum of hashes of its events equal those of `events`. day_checks keeps these two in the same part as the
-- rows, so no crash, mutation or lost part can separate them.
--
-- The builder makes both projections for existing rows, the newest month first.
--
-- The hash covers every column that a stored day depends on: src/days/check.ts. It is the same text everywhere, or the projection is not used.
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

-- Only the builder writes here. Rows of one build of a day have the same `built`; several builds of a day may be stored at a time.
-- Not ReplacingMergeTree: a merge could remove a build while a query reads it.
CREATE TABLE IF NOT EXISTS entity_days
(
  tenant_id LowCardinality(String) COMMENT 'Tenant',
  day Date32 COMMENT 'UTC day of the timestamps',
  kind Enum8('both' = 0, 'company' = 1, 'account' = 2) COMMENT 'What the entity is; both: its events as a company are those as an account',
  entity UInt64 COMMENT 'Number of the company or the account: sipHash64 of entity_id; 0 when none is known',
  entity_id String COMMENT 'company_id or account_id' CODEC(ZSTD(1)),
  built UInt64 COMMENT 'The build: when it began, in milliseconds since 1970' CODEC(ZSTD(1)),
  events UInt32 COMMENT 'How many events',
  visits UInt32 COMMENT 'How many visitors',
  visitors Array(UInt64) COMMENT 'The visitors, as in events',
  check UInt64 COMMENT 'Sum of the hashes of these events' CODEC(NONE),
  INDEX ids entity_id TYPE bloom_filter(0.01) GRANULARITY 1,
  PROJECTION checks
  (
    SELECT
      tenant_id,
      day,
      built,
      sumIf(events, kind != 'account'),
      sumIf(check, kind != 'account'),
      sumIf(events, kind != 'company'),
      sumIf(check, kind != 'company'),
      count()
    GROUP BY tenant_id, day, built
  )
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(day)
ORDER BY (tenant_id, day, kind, entity)
SETTINGS non_replicated_deduplication_window = 0
COMMENT 'Numbers of companies and accounts on closed days; a day counts if valid_days names its build';

CREATE TABLE IF NOT EXISTS page_days
(
  tenant_id LowCardinality(String) COMMENT 'Tenant',
  day Date32 COMMENT 'UTC day of the timestamps',
  page LowCardinality(String) COMMENT 'As in events; never empty',
  company UInt64 COMMENT 'As in events; never 0',
  built UInt64 COMMENT 'The build: when it began, in milliseconds since 1970' CODEC(ZSTD(1)),
  events UInt32 COMMENT 'How many events',
  visits UInt32 COMMENT 'How many visitors',
  last DateTime64(3, 'UTC') COMMENT 'Latest timestamp',
  check UInt64 COMMENT 'Sum of the hashes of these events' CODEC(NONE),
  PROJECTION checks
  (
    SELECT tenant_id, day, built, sum(events), sum(check), count()
    GROUP BY tenant_id, day, built
  )
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(day)
ORDER BY (tenant_id, day, page, company)
SETTINGS non_replicated_deduplication_window = 0
COMMENT 'Numbers of pages and companies on closed days; a day counts if valid_page_days names its build';

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
