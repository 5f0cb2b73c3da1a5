-- Written by src/stores/clickhouse/migrate.ts.
CREATE TABLE IF NOT EXISTS migrations
(
  name String COMMENT 'File in schemas/clickhouse',
  applied_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'When it was applied',
  ipid_version String COMMENT 'Version of ipid that applied it; empty for 0.1.0',
  views String COMMENT 'Hash of the views that were created then; with begun before it while they are being created; empty when the record is of tables'
)
ENGINE = MergeTree
ORDER BY name
COMMENT 'Changes of the schema that were applied';
