-- The builder of days makes it for existing rows, the newest month first. Then it drops stored_days, which it replaces.
ALTER TABLE events
  ADD PROJECTION IF NOT EXISTS named_days
  (
    SELECT tenant_id, toDate32(received_at), job_id, classification, company > 0, count()
    GROUP BY tenant_id, toDate32(received_at), job_id, classification, company > 0
  ) FIRST;
