-- Views over the events of known organisations. Expressions must match those of the projections of `events` character by
-- character; otherwise a query reads every event. For the same reason "known" is written company_id > ''.
CREATE VIEW IF NOT EXISTS accounts AS
SELECT
  tenant_id,
  account_id,
  latest.1 AS business_name,
  latest.2 AS org_name,
  latest.3 AS domain,
  latest.4 AS industry,
  latest.5 AS industry_category,
  latest.6 AS classification,
  latest.7 AS country_code,
  first_seen,
  last_seen,
  events,
  visits,
  unique_ips,
  latest.8 AS quality
FROM
(
  SELECT
    tenant_id,
    account_id,
    count() AS events,
    min(timestamp) AS first_seen,
    max(timestamp) AS last_seen,
    finalizeAggregation(uniqExactState(sipHash64(ip))) AS unique_ips,
    finalizeAggregation(uniqExactState(sipHash64(ip, toDate32(timestamp)))) AS visits,
    finalizeAggregation(argMaxState((business_name, org_name, domain, industry, industry_category, classification, country_code, quality), timestamp)) AS latest
  FROM events
  WHERE company_id > ''
  GROUP BY tenant_id, account_id
);

CREATE VIEW IF NOT EXISTS companies AS
SELECT
  tenant_id,
  company_id,
  latest.1 AS business_name,
  latest.2 AS org_name,
  latest.3 AS domain,
  latest.4 AS industry,
  latest.5 AS industry_category,
  latest.6 AS classification,
  latest.7 AS country_code,
  first_seen,
  last_seen,
  events,
  visits,
  unique_ips,
  latest.8 AS quality,
  accounts
FROM
(
  SELECT
    tenant_id,
    company_id,
    count() AS accounts,
    sum(account_events) AS events,
    min(account_first) AS first_seen,
    max(account_last) AS last_seen,
    uniqExactMerge(account_ips) AS unique_ips,
    uniqExactMerge(account_visits) AS visits,
    argMaxMerge(account_latest) AS latest
  FROM
  (
    SELECT
      tenant_id,
      account_id,
      company_id,
      count() AS account_events,
      min(timestamp) AS account_first,
      max(timestamp) AS account_last,
      uniqExactState(sipHash64(ip)) AS account_ips,
      uniqExactState(sipHash64(ip, toDate32(timestamp))) AS account_visits,
      argMaxState((business_name, org_name, domain, industry, industry_category, classification, country_code, quality), timestamp) AS account_latest
    FROM events
    WHERE company_id > ''
    GROUP BY tenant_id, account_id, company_id
  )
  GROUP BY tenant_id, company_id
);

CREATE VIEW IF NOT EXISTS daily_visits AS
SELECT
  tenant_id,
  account_id,
  day,
  unique_ips AS visits,
  events,
  unique_ips
FROM
(
  SELECT
    tenant_id,
    account_id,
    toDate32(timestamp) AS day,
    count() AS events,
    finalizeAggregation(uniqExactState(sipHash64(ip))) AS unique_ips
  FROM events
  WHERE company_id > ''
  GROUP BY tenant_id, account_id, day
);
