import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { ingest } from '../../../pipelines/ingest.ts'
import { type BackupOptions, writeBackup } from '../../../src/operations/backup/backup.ts'
import type {
  ArchiveList,
  RecordSource,
  RecordTarget,
  TableSource,
  TableTarget,
} from '../../../src/operations/backup/ports.ts'
import { Progress } from '../../../src/operations/backup/progress.ts'
import { openBackup, restoreBackup } from '../../../src/operations/backup/restore.ts'
import { InputError } from '../../../src/run/errors.ts'

const TABLES = ['events', 'outcomes'].map((table) => ({ table, columns: ['a'], create: 'CREATE' }))
const progress = new Progress(() => {})
const clock = { now: () => 0 }

test('a backup on a full disk says which disk, and leaves nothing', async (t) => {
  const home = mkdtempSync(join(tmpdir(), 'ipid-backup-'))
  t.after(() => rmSync(home, { recursive: true }))
  const partitions = async () => {
    throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
  }
  const writing = writeBackup(join(home, 'backup'), { records: { partitions }, clock } as unknown as BackupOptions)
  await assert.rejects(writing, {
    message: `the disk of ${home} is full: make room, or take a folder on another disk`,
  })
  assert.deepEqual(readdirSync(home), [])
})

test('backup and restore work in an order that keeps every event in one place', async (t) => {
  const home = mkdtempSync(join(tmpdir(), 'ipid-backup-'))
  t.after(() => rmSync(home, { recursive: true }))
  const dir = join(home, 'missing', 'parents', 'backup')
  const log: string[] = []
  const note = <T>(what: string, value?: T) => {
    log.push(what)
    return Promise.resolve(value as T)
  }
  async function* noted<T>(what: string, ...values: T[]) {
    log.push(what)
    yield* values
  }
  const archive: ArchiveList = { place: 'memory', list: () => noted('objects') }
  const written = await writeBackup(dir, {
    tables: {
      migrations: () => note('migrations', ['0001']),
      tables: () => note('tables', TABLES),
      rows: ({ table }: { table: string }) => noted(`rows of ${table}`, Buffer.from('1\n')),
    } as unknown as TableSource,
    records: {
      partitions: async () => 1,
      partitionsSinceMs: async () => 7,
      untilStored: () => note('until stored'),
      letters: () => noted('letters'),
      tenants: () => noted('tenants'),
      pulls: () => noted('pulls'),
    } as RecordSource,
    archive,
    ...{ version: '1', clock, progress, waitMs: 1 },
  })
  assert.deepEqual(log.splice(0), [
    // A pull that runs meanwhile must not be further than the tables.
    ...['pulls', 'until stored', 'migrations', 'letters', 'tables', 'rows of events', 'rows of outcomes', 'letters'],
    ...['tenants', 'objects'],
  ])
  const behindFile = join(dir, 'manifest.json', 'backup')
  await assert.rejects(writeBackup(behindFile, {} as BackupOptions), (error: Error) => {
    return error instanceof InputError && error.message.startsWith(`cannot write a backup to ${behindFile}: `)
  })

  const tables = {
    assertKnown: () => note('known'),
    assertTables: () => note('tables can be made'),
    filledTable: async () => undefined,
    migrate: (only) => note(only === undefined ? 'later migrations' : 'migrations of then'),
    clear: ({ table }) => note(`clear ${table}`),
    insert: ({ table }) => note(`insert ${table}`),
    count: async () => 1,
    eventsSince: () => noted('events for the window'),
    storedAmong: async () => new Set(),
  } satisfies TableTarget
  const records = {
    begin: () => note('begin', false),
    fixPartitions: (count, { partitions, sinceMs }) => note(`${count} partitions, not ${partitions} since ${sinceMs}`),
    addTenants: () => note('add tenants'),
    addPulls: () => note('add pulls'),
    clearLetters: () => note('clear letters'),
    addLetters: () => note('add letters'),
    placeLetters: () => note('place letters'),
    eventOf: () => undefined,
    windowMs: 1,
    remember: () => note('remember'),
    end: () => note('end'),
    close: () => note('close'),
  } satisfies RecordTarget
  await restoreBackup(dir, (await openBackup(dir, progress, ingest)).manifest, {
    pipeline: ingest,
    tables,
    records,
    archive,
    partitions: 3,
    clock,
    progress,
  })
  assert.deepEqual(log.splice(0), [
    ...[
      'known',
      'tables can be made',
      'begin',
      '3 partitions, not 1 since 7',
      'migrations of then',
      'clear events',
      'insert events',
      'clear outcomes',
    ],
    ...[
      'insert outcomes',
      'later migrations',
      'clear letters',
      'place letters',
      'events for the window',
      'objects',
      'end',
      'close',
    ],
  ])

  // Killed halfway, it is not finished: no role starts.
  const killed = { ...records, clearLetters: () => Promise.reject(new Error('killed')) }
  const again = restoreBackup(dir, written, {
    pipeline: ingest,
    tables,
    records: killed,
    archive,
    partitions: 3,
    clock,
    progress,
  })
  await assert.rejects(again, /killed/)
  assert.deepEqual(
    log.filter((what) => what === 'end' || what === 'close'),
    ['close'],
  )
})
