import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BATCH_LIMITS, type RejectedLine } from '../../../schemas/api/batch.ts'
import { REJECTED_ANSWERS, rejectedAnswer } from '../../../src/pipeline/sources/batch/job-routes.ts'
import { RejectedLines } from '../../../src/pipeline/sources/batch/rejected-lines.ts'
import { BackpressureError } from '../../../src/run/errors.ts'
import { TenantSlots } from '../../../src/run/tenant-slots.ts'

const { rejectedTextMaxBytes } = BATCH_LIMITS

function keptOf(text: string | Buffer): RejectedLine {
  const lines = new RejectedLines(true)
  lines.add(1, 'not_json', 'is not JSON', text)
  return JSON.parse(lines.end()[0]!.text) as RejectedLine
}

test('of a long line its first 64 KiB are kept, whole characters, and marked as cut', () => {
  assert.deepEqual(keptOf('x'.repeat(rejectedTextMaxBytes)), {
    ...{ line: 1, code: 'not_json', detail: 'is not JSON', text: 'x'.repeat(rejectedTextMaxBytes) },
  })
  const { text, text_cut } = keptOf(`x${'é'.repeat(rejectedTextMaxBytes)}`)
  assert.equal(text_cut, true)
  assert.equal(text, `x${'é'.repeat(rejectedTextMaxBytes / 2 - 1)}`)
  const bytes = Buffer.alloc(rejectedTextMaxBytes + 1, 0xff)
  const cut = keptOf(bytes)
  assert.deepEqual([cut.text_base64, cut.text_cut], [bytes.subarray(0, rejectedTextMaxBytes).toString('base64'), true])
})

test('a tenant that reads a few answers of rejected lines at a time is refused one more', async () => {
  async function* pieces() {
    yield 'one\n'
    yield 'two\n'
  }
  const slots = new TenantSlots(REJECTED_ANSWERS)
  const answer = (tenantId: string) => {
    const { body } = rejectedAnswer({ kept: 2, complete: true, pieces: pieces() }, tenantId, slots)
    return (body as AsyncIterable<string>)[Symbol.asyncIterator]()
  }
  const open = Array.from({ length: REJECTED_ANSWERS.ofTenant }, () => answer('acme'))
  for (const one of open) assert.equal((await one.next()).value, 'one\n')
  const isRefused = (error: unknown) => error instanceof BackpressureError && error.limit === 'requests'
  await assert.rejects(answer('acme').next(), isRefused)
  assert.equal((await answer('other').next()).value, 'one\n')
  // Its client has left.
  await open[0]!.return!()
  assert.equal((await answer('acme').next()).value, 'one\n')
})
