CREATE OR REPLACE VIEW corrected_companies
(
  tenant_id String COMMENT 'Tenant',
  company_id String COMMENT 'Organisation',
  is_hidden Bool COMMENT 'Whether it is left out of accounts, companies, daily_visits and sessions',
  name String COMMENT 'Name that a person gave it; empty when none did',
  counts_for String COMMENT 'The company_id that its events count for; empty when it is not merged',
  note String COMMENT 'Note of a person',
  tags Array(String) COMMENT 'Tags, sorted',
  owner String COMMENT 'Person who looks after it'
)
AS SELECT
  tenant_id,
  company_id,
  argMaxIf(value, (at, change_id), field = 'hidden') != '' AS is_hidden,
  argMaxIf(value, (at, change_id), field = 'name') AS name,
  argMaxIf(value, (at, change_id), field = 'counts_for') AS counts_for,
  argMaxIf(value, (at, change_id), field = 'note') AS note,
  arrayFilter(tag -> tag != '', splitByChar('\n', argMaxIf(value, (at, change_id), field = 'tags'))) AS tags,
  argMaxIf(value, (at, change_id), field = 'owner') AS owner
FROM company_corrections
WHERE company_id != ''
GROUP BY tenant_id, company_id
COMMENT 'What holds now of the corrections by people: one row per company that was ever corrected';

-- Every company that a correction concerns, merge targets too. The views that follow corrections have two halves: companies that no
-- correction concerns, and the others. So without corrections nothing is slower, and a query for one company or account still reads only
-- its rows.
CREATE OR REPLACE VIEW concerned_companies
(
  tenant_id String COMMENT 'Tenant',
  company_id String COMMENT 'Organisation'
)
AS SELECT
  tenant_id,
  arrayJoin(if(field = 'counts_for' AND value != '', [company_corrections.company_id, value], [company_corrections.company_id])) AS company_id
FROM company_corrections
WHERE company_corrections.company_id != ''
COMMENT 'Companies that a correction by people concerns, merge targets too; rows may repeat';

CREATE OR REPLACE VIEW concerned_accounts
(
  tenant_id String COMMENT 'Tenant',
  account_id String COMMENT 'Account: the sender''s, or else the organisation'
)
AS SELECT tenant_id, company_id AS account_id
FROM concerned_companies
UNION ALL
SELECT tenant_id, account_id
FROM events
WHERE company_id > '' AND (tenant_id, company_id) IN (SELECT tenant_id, company_id FROM concerned_companies)
GROUP BY tenant_id, account_id
COMMENT 'Accounts that a correction by people concerns: those with the id of a concerned company, and those with events of one; rows may repeat';
