import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BackupFigures } from '../../../schemas/backup.ts'
import { assertEqual, compareFigures } from '../../../src/operations/backup/commands/check.ts'
import { crc32, TableMeters } from '../../../src/operations/backup/figures.ts'
import { BackupRefusedError } from '../../../src/operations/backup/ports.ts'

const EVENTS = {
  table: 'events',
  columns: ['tenant_id', 'event_id', 'received_at', 'job_id', 'company_id'],
  create: '',
}
const OUTCOMES = { table: 'outcomes', columns: ['source', 'events'], create: '' }
const ROWS = Buffer.from(
  [
    'acme\ta\\tb\t2026-11-25 01:00:00.000\t\tx.example\n',
    'acme\tc\t1999-11-25 01:00:00.000\tjob\tx.example\n',
    'other\tc\t2026-11-24 01:00:00.000\t\t\n',
  ].join(''),
)

test('figures are the same however the rows are cut into pieces', () => {
  const found = Array.from({ length: ROWS.length }, (_, index) => {
    const meters = new TableMeters()
    const events = meters.of(EVENTS)!
    for (let at = 0; at < ROWS.length; at += index + 1) events.push(ROWS.subarray(at, at + index + 1))
    meters.of(OUTCOMES)!.push(Buffer.from('a\t3\nb\t4\n'))
    return meters.figures()
  })
  assert.equal(crc32(Buffer.from('123456789')), 0xcbf43926)
  const checksum = ROWS.toString()
    .split(/(?<=\n)/)
    .reduce((sum, line) => sum ^ crc32(Buffer.from(line)), 0)
  const times = { first_received: '1999-11-25 01:00:00.000', last_received: '2026-11-25 01:00:00.000' }
  const counts = { rows: 3, ids: 2, companies: 2, tenants: 2, of_jobs: 1 }
  for (const figures of found) {
    assert.deepEqual(figures, { events: { ...counts, ...times, checksum: checksum >>> 0 }, outcomes: 7 })
  }
})

test('a table of an earlier version that lacks a column has no figures', () => {
  const meters = new TableMeters()
  assert.equal(meters.of({ ...EVENTS, columns: ['tenant_id', 'event_id'] }), undefined)
  assert.equal(meters.of({ ...EVENTS, table: 'own' }), undefined)
  assert.ok(meters.of(OUTCOMES))
  assert.equal(meters.figures(), undefined)
})

const FIGURES: BackupFigures = {
  events: {
    ...{ rows: 3, ids: 2, companies: 2, tenants: 2, of_jobs: 1, checksum: 1 },
    ...{ first_received: '1', last_received: '2' },
  },
  ...{ outcomes: 7, tenants: 2, keys: 3, pulls: 0, dead_letters: 4 },
}

test('a check names every figure that differs', () => {
  const manifest = { figures: FIGURES, ipid_version: '1' }
  const whole = compareFigures(manifest, { ...FIGURES, dead_letters: 3 }, 1)
  assert.ok(whole.length >= 10)
  assertEqual(whole)
  const damaged = { ...FIGURES, keys: 1, events: { ...FIGURES.events, ids: 1 } }
  assert.throws(() => assertEqual(compareFigures(manifest, damaged, 0)), {
    name: BackupRefusedError.name,
    message: 'the restored data differ from the backup: distinct event ids: 1, not 2; keys: 1, not 3',
  })
  assert.throws(() => compareFigures({ ...manifest, figures: undefined }, FIGURES, 0), /noted no figures/)
})
