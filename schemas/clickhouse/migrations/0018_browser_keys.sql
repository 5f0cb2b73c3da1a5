ALTER TABLE events
  ADD COLUMN IF NOT EXISTS browser_key UInt8 DEFAULT 0 COMMENT '0: the event came with an API key or a server key. 1: with a browser key, so that what it says of its visitor proves nothing. 2: as 1, and it has a work e-mail address' AFTER known_domain;
