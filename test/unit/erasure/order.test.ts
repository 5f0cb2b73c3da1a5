import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ErasureOptions, eraseEvents } from '../../../src/operations/erasure/erase.ts'
import { selectorOf } from '../../../src/operations/erasure/selector.ts'

/** Stores that only note their calls. */
function loggedOptions(log: string[]): ErasureOptions {
  const note = <T>(name: string, value: T) => {
    return async () => {
      log.push(name)
      return value
    }
  }
  return {
    tables: {
      begin: note('tables.begin', undefined),
      async *eventIds() {
        log.push('tables.eventIds')
        yield ['e']
      },
      idsAmong: note('tables.idsAmong', new Set<string>()),
      remove: note('tables.remove', { rows: 1, outcomes: 0, corrections: 0, detachedParts: 0 }),
      end: note('tables.end', undefined),
    },
    records: {
      windowMs: 1,
      begin: note('records.begin', undefined),
      untilSettled: note('records.untilSettled', undefined),
      untilCancelled: note('records.untilCancelled', undefined),
      removeLetters: note('records.removeLetters', 0),
      removeQuotes: note('records.removeQuotes', 0),
      removeBatchJobs: note('records.removeBatchJobs', 0),
      removeBulkJobs: note('records.removeBulkJobs', 0),
      forget: note('records.forget', 1),
      rewriteFiles: note('records.rewriteFiles', 'rewritten' as const),
      end: note('records.end', undefined),
    },
    archive: {
      location: 'memory',
      remove: note('archive.remove', { lines: 0, rewritten: 0, deleted: 0 }),
      removeTenant: note('archive.removeTenant', 0),
    },
    clock: { now: () => 0 },
    onStep: () => {},
    waitMs: 1_000,
  }
}

test('rows go last, since other removals need them; files of Redis go after all its changes', async () => {
  const log: string[] = []
  await eraseEvents('acme', selectorOf({ account: 'a' }), loggedOptions(log))
  assert.deepEqual(log, [
    ...['records.begin', 'records.untilSettled', 'tables.begin'],
    ...['records.removeLetters', 'records.removeQuotes', 'records.removeBulkJobs'],
    ...['archive.remove', 'tables.eventIds', 'records.forget'],
    ...['tables.remove', 'records.rewriteFiles', 'tables.end', 'records.end'],
  ])
})

test('a failed erasure drops its notes, and lets others begin', async () => {
  const log: string[] = []
  const options = loggedOptions(log)
  const records = { ...options.records, removeLetters: () => Promise.reject(new Error('down')) }
  await assert.rejects(eraseEvents('acme', selectorOf({ account: 'a' }), { ...options, records }), /down/)
  assert.deepEqual(log.slice(-2), ['tables.end', 'records.end'])
})
