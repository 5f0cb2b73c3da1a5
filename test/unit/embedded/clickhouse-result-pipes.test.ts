import assert from 'node:assert/strict'
import { mkdtempSync } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { ResultPipes } from '../../../src/embedded/clickhouse/result-pipes.ts'

test('a reader may open an abandoned pipe, cannot write to it, and the pipe is reused', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'ipid-pipes-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const pipes = ResultPipes.make(join(folder, 'results'), 1)
  const left = pipes.open()
  left.leave()
  for (let i = 0; i < 2; i++) {
    const late = await open(left.path, 'w')
    await assert.rejects(async () => {
      for (;;) await late.write('x'.repeat(100_000))
    }, /EPIPE/)
    await late.close()
  }
  assert.deepEqual(pipes.departures, { open: 1, changes: 1 })
  await left.close()
  assert.deepEqual(pipes.departures, { open: 0, changes: 2 })
  const next = pipes.open()
  const writer = await open(next.path, 'w')
  await writer.write('whole')
  await writer.close()
  next.end()
  let text = ''
  for await (const chunk of next.chunks) text += chunk
  assert.equal(text, 'whole')
  next.leave()
  await next.close()
  assert.deepEqual(pipes.departures, { open: 0, changes: 2 }, 'its statement had ended: the reader did not leave early')
})
