-- The source whose key brought an event, or a count of events: health of a source is counted by it. Pages and campaigns are top level keys
-- of events, where every source puts them, or properties of these names.
ALTER TABLE events
  ADD COLUMN IF NOT EXISTS source_id LowCardinality(String) DEFAULT '' COMMENT 'Source whose key brought the event; empty when an API key did' AFTER request_id;

ALTER TABLE outcomes
  ADD COLUMN IF NOT EXISTS source_id LowCardinality(String) DEFAULT '' COMMENT 'Source whose key brought the events; empty when an API key did' AFTER events;
