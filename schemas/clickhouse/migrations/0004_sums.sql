-- company_sums of 0019 replaces account_totals. Made a projection that 0021 replaces.
ALTER TABLE events
  ADD COLUMN IF NOT EXISTS job_id LowCardinality(String) DEFAULT '',
  ADD COLUMN IF NOT EXISTS lane String ALIAS if(job_id = '', 'live', 'batch'),
  MODIFY COLUMN event_id String CODEC(ZSTD(1)),
  MODIFY COMMENT 'One row per event that is kept, with what was found out about its address',
  COMMENT COLUMN ip 'Address of the visitor, canonical text; IPv4-mapped IPv6 is written as IPv4',
  COMMENT COLUMN tenant_id 'Tenant',
  COMMENT COLUMN event_id 'Identifier of the event within its tenant: the sender''s, or a UUID that was made',
  COMMENT COLUMN received_at 'When the event was received, UTC milliseconds',
  COMMENT COLUMN timestamp 'When it happened, as the sender says, UTC milliseconds; else received_at',
  COMMENT COLUMN event_type 'Label of the sender''s',
  COMMENT COLUMN session_id 'Session, as the sender says; NULL when he does not',
  COMMENT COLUMN platform 'Label of the sender''s, such as web',
  COMMENT COLUMN properties 'JSON as it was sent; empty when it was not',
  COMMENT COLUMN user_properties 'JSON as it was sent; empty when it was not',
  COMMENT COLUMN extra 'JSON object of all other keys, as they were sent; empty when there are none',
  COMMENT COLUMN account_id 'Account: the sender''s, or else company_id; empty when neither is known',
  COMMENT COLUMN company_id 'Organisation behind the address: its domain, or else a slug of its name; empty when none is known',
  COMMENT COLUMN business_name 'Name that the organisation is known by',
  COMMENT COLUMN org_name 'Name of the organisation in full',
  COMMENT COLUMN hostname 'Host name of the address',
  COMMENT COLUMN domain 'Domain of the organisation',
  COMMENT COLUMN industry 'Industry of the organisation',
  COMMENT COLUMN industry_category 'Group of industries',
  COMMENT COLUMN classification 'Class of the organisation: business, education or government; empty when nothing speaks for one',
  COMMENT COLUMN country_code 'Country, ISO 3166-1 alpha-2',
  COMMENT COLUMN asn 'Number of the autonomous system that announces the address; 0 when it is not known',
  COMMENT COLUMN as_name 'Name of that autonomous system',
  COMMENT COLUMN quality 'How much is known of the address, 0 to 100',
  COMMENT COLUMN job_id 'Batch job that brought the event; empty for live events, and for those stored before there was this column',
  COMMENT COLUMN lane 'live, or batch: see job_id';

ALTER TABLE events DROP PROJECTION IF EXISTS account_totals;

ALTER TABLE migrations
  MODIFY COMMENT 'Changes of the schema that were applied',
  COMMENT COLUMN IF EXISTS name 'File in schemas/clickhouse',
  COMMENT COLUMN IF EXISTS applied_at 'When it was applied';
