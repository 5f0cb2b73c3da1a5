import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { writeTestData } from '../support/instance.ts'
import { TestSite } from '../support/site.ts'
import { until } from '../support/until.ts'

/** A backup and the archive that version 0.1.0 made: two live events and a batch line, noise, a repeat, a dead letter. */
const FIXTURE = fileURLToPath(new URL('../upgrade/from-0.1.0', import.meta.url))
const DAY = '2026-11-27'

test('backup, archive and dead letters of version 0.1.0 are read', async (t) => {
  const data = mkdtempSync(join(tmpdir(), 'ipid-release-'))
  t.after(() => rmSync(data, { recursive: true, force: true }))
  const site = new TestSite(t, { PARTITIONS: '1', ...(await writeTestData(data)) })
  cpSync(join(FIXTURE, 'archive'), join(site.dir, 'archive'), { recursive: true })
  const run = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await site.ipid(...args)
    assert.equal(code, 0, stderr)
    return stdout
  }
  await run('restore', join(FIXTURE, 'backup'))
  await site.start().ready()
  const events = async () =>
    JSON.parse(await run('sql', '--json', 'SELECT event_id, account_id, ip FROM events ORDER BY event_id')).data
  const ofBackup = [
    { event_id: 'a1', account_id: 'fruit.example', ip: '17.0.0.1' },
    { event_id: 'a2', account_id: 'acme', ip: '17.0.0.2' },
    { event_id: 'b1', account_id: 'fruit.example', ip: '17.0.0.3' },
  ]
  assert.deepEqual(await events(), ofBackup)

  const { letters } = JSON.parse(await run('dead-letter', 'list', '--json'))
  assert.equal(letters.length, 1)
  await run('dead-letter', 'retry', letters[0].id)
  const all = [...ofBackup, { event_id: 'p1', account_id: 'fruit.example', ip: '17.0.0.4' }]
  await until(events, (rows) => rows.length === all.length)
  assert.deepEqual(await events(), all)

  await run('sql', '--write', "DELETE FROM events WHERE event_id != 'p1'")
  await run('replay', '--tenant', 'demo', '--from', DAY, '--to', DAY)
  assert.deepEqual(
    (await events()).map(({ event_id }: { event_id: string }) => event_id),
    ['a1', 'a2', 'b1', 'p1'],
  )
  assert.match(await run('rules', 'list', 'demo'), /own +198\.51\.100\.0\/24/)
})
