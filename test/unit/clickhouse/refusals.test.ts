import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ClickHouseError } from '@clickhouse/client'
import { RefusedRowsError, UnclearRefusalError } from '../../../src/pipeline/declaration/destination.ts'
import { refusalOf } from '../../../src/pipeline/sinks/clickhouse/refusals.ts'

test('only errors about the data refuse rows at once; errors of the server never do', () => {
  const error = (code: string, type: string) => new ClickHouseError({ message: 'no', code, type })
  assert.ok(refusalOf(error('27', 'CANNOT_PARSE_INPUT_ASSERTION_FAILED')) instanceof RefusedRowsError)
  assert.ok(refusalOf(error('469', 'VIOLATED_CONSTRAINT')) instanceof UnclearRefusalError)
  const others = [
    error('241', 'MEMORY_LIMIT_EXCEEDED'),
    error('252', 'TOO_MANY_PARTS'),
    error('243', 'NOT_ENOUGH_SPACE'),
    error('164', 'READONLY'),
    error('577', 'INVALID_SHARD_ID'),
    error('55', 'STORAGE_REQUIRES_PARAMETER'),
    error('319', 'UNKNOWN_STATUS_OF_INSERT'),
    error('285', 'TOO_FEW_LIVE_REPLICAS'),
    new ClickHouseError({ message: 'no', code: '9999' }),
    new Error('connect ECONNREFUSED'),
  ]
  for (const other of others) assert.equal(refusalOf(other), other)
})
