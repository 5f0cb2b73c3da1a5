ALTER TABLE events
  ADD COLUMN IF NOT EXISTS source_id LowCardinality(String) DEFAULT '' COMMENT 'Source whose key brought the event; empty when an API key did' AFTER request_id;

ALTER TABLE outcomes
  ADD COLUMN IF NOT EXISTS source_id LowCardinality(String) DEFAULT '' COMMENT 'Source whose key brought the events; empty when an API key did' AFTER events;
