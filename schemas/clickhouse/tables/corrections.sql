-- Corrections of companies by people (src/companies/corrections/). Rows are only added: the newest row of a company and a field holds,
-- so a correction changes the past and the future at once, and events stay as they are.
CREATE TABLE IF NOT EXISTS company_corrections
(
  tenant_id String COMMENT 'Tenant',
  company_id String COMMENT 'Organisation that is corrected',
  field LowCardinality(String) COMMENT 'What is corrected: hidden (yes, or empty), name, merged_into (company_id as a person said it), note, tags (one a line), owner; counts_for follows from merged_into: the company_id at the end of the chain',
  at DateTime64(3, 'UTC') COMMENT 'When; the newest row of a company and a field holds',
  change_id String COMMENT 'The change that it belongs to; one change may correct many companies',
  value String COMMENT 'Corrected value; empty when there is no correction any more',
  before String COMMENT 'Value that held before',
  by String COMMENT 'Who corrected it: the person who was signed in, or command line',
  undoes String COMMENT 'The change that this one takes back; empty for others'
)
ENGINE = MergeTree
ORDER BY (tenant_id, company_id, field, at, change_id)
SETTINGS non_replicated_deduplication_window = 10000
COMMENT 'Corrections of companies by people, oldest to newest; corrected_companies has what holds now';
