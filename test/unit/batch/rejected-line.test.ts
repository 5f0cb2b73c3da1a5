import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NOTHING_KNOWN } from '../../../src/enrichment/answers/answer.ts'
import { LineChunker } from '../../../src/pipeline/sources/batch/line-chunker.ts'
import { rejectedLine } from '../../../src/pipeline/sources/batch/read-chunk.ts'
import { readWhole } from '../../support/batch.ts'

test('a row known to be no event is counted and named like any other bad line', () => {
  const lines = ['', '{"ip":"17.0.0.1"}', rejectedLine('has 5 fields,\nand the header 3'), '\0row']
  const counts: unknown[] = []
  const chunker = new LineChunker((chunk) => {
    const context = { tenantId: 't', receivedAtMs: 0, job: 'j', partitions: 1, check: () => [] }
    const reading = readWhole(chunk, { ...context, enricher: { enrich: () => NOTHING_KNOWN } })
    counts.push(
      reading.counts,
      [...reading.outcomes.keys()].some((key) => key.includes('unreadable')),
    )
  })
  chunker.push(Buffer.from(lines.join('\n')))
  chunker.end()
  const [{ fed, rejected, errors }, isCounted] = counts as [
    { fed: number; rejected: number; errors: { line: number; detail: string }[] },
    boolean,
  ]
  assert.deepEqual([chunker.received, fed, rejected, isCounted], [3, 1, 2, true])
  assert.deepEqual(errors[0], { line: 3, detail: 'has 5 fields, and the header 3' })
  assert.match(errors[1]!.detail, /^is not JSON/)
})
