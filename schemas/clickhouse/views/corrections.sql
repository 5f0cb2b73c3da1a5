CREATE OR REPLACE VIEW corrected_companies
(
  tenant_id String COMMENT 'Tenant',
  company_id String COMMENT 'Organisation',
  is_hidden Bool COMMENT 'Whether it is left out of accounts, companies, daily_visits and sessions',
  name String COMMENT 'Name that a person gave it; empty when none did',
  counts_for String COMMENT 'The company_id that its events count for; empty when it is not merged',
  note String COMMENT 'Note of a person',
  tags Array(String) COMMENT 'Tags, sorted',
  owner String COMMENT 'Person who looks after it',
  status String COMMENT 'customer, open deal, or another word of people',
  own Map(String, String) COMMENT 'Values of own columns of the tenant, by the key of the column'
)
AS SELECT
  tenant_id,
  company_id,
  argMaxIf(value, (at, change_id), field = 'hidden') != '' AS is_hidden,
  argMaxIf(value, (at, change_id), field = 'name') AS name,
  argMaxIf(value, (at, change_id), field = 'counts_for') AS counts_for,
  argMaxIf(value, (at, change_id), field = 'note') AS note,
  arrayFilter(tag -> tag != '', splitByChar('\n', argMaxIf(value, (at, change_id), field = 'tags'))) AS tags,
  argMaxIf(value, (at, change_id), field = 'owner') AS owner,
  argMaxIf(value, (at, change_id), field = 'status') AS status,
  mapApply((key, held) -> (key, held.3), mapFilter((key, held) -> held.3 != '', maxMapIf(map(substring(field, 5), (at, change_id, value)), startsWith(field, 'own:')))) AS own
FROM company_corrections
WHERE company_id != ''
GROUP BY tenant_id, company_id
COMMENT 'What holds now of the corrections by people: one row per company that was ever corrected';

-- A target counts for itself, so that the events of a merge are found by one condition.
CREATE OR REPLACE VIEW merged_companies
(
  tenant_id String COMMENT 'Tenant',
  company_id String COMMENT 'Organisation that is merged, or that others are merged into',
  target_id String COMMENT 'The company_id that its events count for'
)
AS SELECT DISTINCT
  tenant_id,
  arrayJoin([corrected_companies.company_id, counts_for]) AS company_id,
  counts_for AS target_id
FROM corrected_companies
WHERE counts_for != ''
COMMENT 'Which companies count together, as people merged them';
