import type { Mutant } from '../mutant.ts'

const CLUSTER = 'test/integration/clickhouse-cluster.test.ts'
const FORM = 'test/unit/clickhouse/cluster-form.test.ts'
const INSERTER = 'test/unit/clickhouse/inserter.test.ts'

/** Tables that are spread over a cluster of ClickHouse. */
export const ON_CLUSTER: readonly Mutant[] = [
  {
    name: 'cluster-one-shard',
    promise: 'an insert, its parts and its repeats go to the shard that their token names',
    file: 'src/pipeline/sinks/clickhouse/inserter.ts',
    from: 'insert_shard_id: String(shard),',
    to: 'insert_shard_id: String(Math.min(shard, 1)),',
    noticedBy: [[INSERTER, 'goes whole to the shard that its token names']],
  },
  {
    name: 'cluster-own-token',
    promise: 'the token of an insert is that of its destination',
    file: 'src/pipeline/runner/sink-worker.ts',
    from: 'this.#options.inserter.newToken?.() ?? randomUUID()',
    to: 'randomUUID()',
    noticedBy: [['test/unit/runner/sink-worker.test.ts', 'a destination that has tokens of its own']],
  },
  {
    name: 'cluster-foreground',
    promise: 'an insert is acknowledged when its shard has it',
    file: 'src/pipeline/sinks/clickhouse/inserter.ts',
    from: 'distributed_foreground_insert: 1,',
    to: 'distributed_foreground_insert: 0,',
    noticedBy: [[INSERTER, 'goes whole to the shard that its token names']],
  },
  {
    name: 'cluster-quorum',
    promise: 'an insert is acknowledged when a majority of replicas has it',
    file: 'src/pipeline/sinks/clickhouse/inserter.ts',
    from: '...(this.#shards.get(shard) === 1 ? {} : BY_MAJORITY),',
    to: '...(this.#shards.size > 0 ? {} : BY_MAJORITY),',
    noticedBy: [[INSERTER, 'an insert is answered when a majority of the replicas has it']],
  },
  {
    name: 'cluster-tokens-kept',
    promise: 'tokens are not forgotten by their age',
    file: 'src/stores/clickhouse/cluster-form.ts',
    from: 'replicated_deduplication_window_seconds = 315360000',
    to: 'replicated_deduplication_window_seconds = 604800',
    noticedBy: [[FORM, 'keeps its tokens by number alone']],
  },
  {
    name: 'cluster-rows-local',
    promise: 'an ALTER of rows goes to the table that has them',
    file: 'src/stores/clickhouse/cluster-form.ts',
    from: '/^(?:(?:ADD|MODIFY|DROP|RENAME|COMMENT) COLUMN|MODIFY COMMENT)\\b/',
    to: '/^(?:ADD|MODIFY|DROP|RENAME|COMMENT)\\b/',
    noticedBy: [[FORM, 'an ALTER goes to the table that has the rows']],
  },
  {
    name: 'cluster-formless',
    promise: 'a statement that has no form on a cluster is not sent there',
    file: 'src/stores/clickhouse/cluster-form.ts',
    from: '  throw formless(text)\n}\n\nfunction formless',
    to: '  return [text]\n}\n\nfunction formless',
    noticedBy: [[FORM, 'a statement that has no form on a cluster']],
  },
  {
    name: 'cluster-majority-has-it',
    promise: 'rows behind a repeat count as stored when a majority of replicas has them',
    file: 'src/pipeline/sinks/clickhouse/absent-rows.ts',
    from: 'Math.floor(of / 2) + 1',
    to: 'Math.min(of, 1)',
    noticedBy: [[CLUSTER, 'the tables of a cluster']],
  },
  {
    name: 'cluster-all-answer',
    promise: 'rows count as absent only when all replicas answer',
    file: 'src/pipeline/sinks/clickhouse/absent-rows.ts',
    from: '    ALL_HAVE_TO_ANSWER,\n  )',
    to: '    SOME_MAY_BE_AWAY,\n  )',
    noticedBy: [[CLUSTER, 'the tables of a cluster']],
  },
  {
    name: 'cluster-form-of-tables',
    promise: 'tables of the other form are not touched',
    file: 'src/stores/clickhouse/migrate.ts',
    from: '    await demandForm(client, cluster)\n',
    to: '',
    noticedBy: [[CLUSTER, 'the tables of a cluster']],
  },
  {
    name: 'cluster-no-erasure',
    promise: 'an erasure refuses the tables of a cluster before it removes anything',
    file: 'src/operations/erasure/commands/erasable.ts',
    from: "  await demandOneServer('an erasure', clickhouseUrl, config.clickhouseCluster)\n",
    to: '',
    noticedBy: [['test/unit/cli/one-server.test.ts']],
  },
  {
    name: 'cluster-no-replay',
    promise: 'a replay refuses the tables of a cluster before it asks which rows they lack',
    file: 'src/operations/replay/commands/run.ts',
    from: "  await demandOneServer('a replay', await clickhouseUrlOf(config), config.clickhouseCluster)\n",
    to: '',
    noticedBy: [['test/unit/cli/one-server.test.ts']],
  },
  {
    name: 'cluster-shard-gone',
    promise: 'rows are not given up for a shard that is not there any more',
    file: 'src/pipeline/sinks/clickhouse/refusals.ts',
    from: ' INVALID_SHARD_ID\n',
    to: '\n',
    noticedBy: [['test/unit/clickhouse/refusals.test.ts']],
  },
]
