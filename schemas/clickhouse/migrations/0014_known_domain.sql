ALTER TABLE events
  ADD COLUMN IF NOT EXISTS known_domain LowCardinality(String) DEFAULT '' COMMENT 'Registrable domain of the work e-mail address that came with the event; empty without one, and for free and disposable mail' AFTER source_id;
