import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readChunk } from '../../../src/batch/read-chunk.ts'
import { rowAt, rowEnds } from '../../../src/core/event/block.ts'
import { NOTHING_KNOWN } from '../../../src/enrichment/answers/answer.ts'

const context = { tenantId: 'acme', receivedAtMs: 1_700_000_000_000, partitions: 1, check: () => [] }

/** Ids of the events of two lines that have none. */
function idsOf(jobId: string, firstLine = 1): string[] {
  const bytes = Buffer.from('{"ip":"192.0.2.1"}\n{"ip":"192.0.2.1"}\n')
  const enricher = { enrich: () => NOTHING_KNOWN }
  const block = readChunk({ firstLine, gaps: [], bytes }, { ...context, jobId, enricher }).blocks.get(0)!
  const ends = rowEnds(block)
  return [0, 1].map((i) => rowAt(block, ends, i).toString().split('\t')[2]!)
}

test('an id that is made depends on job and line only, so that a line that is read again is the same event', () => {
  const ids = idsOf('job-1')
  assert.deepEqual(idsOf('job-1'), ids)
  assert.deepEqual(idsOf('job-1', 2)[0], ids[1])
  assert.equal(new Set([...ids, ...idsOf('job-2')]).size, 4)
  for (const id of ids) assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
})
