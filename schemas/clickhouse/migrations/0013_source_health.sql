ALTER TABLE events
  ADD PROJECTION IF NOT EXISTS source_hours
  (
    SELECT
      tenant_id,
      source_id,
      toStartOfHour(received_at),
      count(),
      max(received_at),
      min(ip),
      max(ip),
      quantileBFloat16State(dateDiff('second', timestamp, received_at))
    GROUP BY tenant_id, source_id, toStartOfHour(received_at)
  );

ALTER TABLE outcomes
  ADD PROJECTION IF NOT EXISTS source_days
  (
    SELECT tenant_id, source_id, day, status, reason, classification, sum(events)
    GROUP BY tenant_id, source_id, day, status, reason, classification
  );

ALTER TABLE events MATERIALIZE PROJECTION IF EXISTS source_hours;

ALTER TABLE outcomes MATERIALIZE PROJECTION IF EXISTS source_days;
