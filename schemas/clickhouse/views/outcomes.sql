CREATE OR REPLACE VIEW daily_outcomes
(
  tenant_id String COMMENT 'Tenant',
  day Date32 COMMENT 'UTC day of receipt',
  lane String COMMENT 'live or batch',
  status String COMMENT 'What became of the events: stored, filtered, duplicates, invalid_ip, rejected, dead, or the reason for which another stage drops events',
  reason String COMMENT 'Why, where the status does not say it: what is wrong with a rejected line; the stage or sink that a dead event failed in',
  classification String COMMENT 'Class of their addresses; empty when nothing speaks for one, or no address was judged',
  events Int64 COMMENT 'How many'
)
AS SELECT
  tenant_id,
  day,
  lane,
  status,
  reason,
  classification,
  sum(n) AS events
FROM
(
  SELECT
    tenant_id,
    toDate32(received_at) AS day,
    if(job_id = '', 'live', 'batch') AS lane,
    'stored' AS status,
    '' AS reason,
    classification,
    toInt64(count()) AS n
  FROM events
  GROUP BY tenant_id, day, job_id, classification
  UNION ALL
  SELECT
    tenant_id,
    toDate32(received_at) AS day,
    if(job_id = '', 'live', 'batch') AS lane,
    'filtered' AS status,
    hidden_reason AS reason,
    hidden_class AS classification,
    toInt64(count()) AS n
  FROM hidden_events
  GROUP BY tenant_id, day, job_id, hidden_reason, hidden_class
  UNION ALL
  SELECT
    tenant_id,
    day,
    if(job_id = '', 'live', 'batch') AS lane,
    status,
    reason,
    classification,
    sum(events) AS n
  FROM outcomes
  GROUP BY tenant_id, day, job_id, status, reason, classification
)
GROUP BY tenant_id, day, lane, status, reason, classification
HAVING events != 0
COMMENT 'Every event that was received, by UTC day of receipt and by what became of it';
