import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EventReplacement, StoredEvents } from '../../../src/operations/reenrich/ports.ts'
import { reenrich } from '../../../src/operations/reenrich/reenrich.ts'
import { LeaseLostError, UnavailableError } from '../../../src/run/errors.ts'
import { todaysData } from '../../support/todays-data.ts'

const SELECTION = { tenantId: 't', from: '2025-11-20', to: '2025-11-20', receivedUntilMs: 0 }
const SLICE = { tenantId: 't', fromMs: 0, toMs: 1 }
const data = todaysData(() => ({ companyId: 'a.example' }))

/** Stores in which one event changes; each call is noted, and answered by `answers` first. */
function stores(answers: Partial<Record<string, unknown[]>> = {}) {
  const calls: string[] = []
  const usual: Partial<Record<string, unknown>> = {
    addresses: 1,
    accountsAmong: new Set(),
    stagedSoFar: 1,
    slices: [SLICE],
    isInserted: true,
  }
  let isComplete = false
  const both = new Proxy({} as StoredEvents & EventReplacement, {
    get: (_, name: string) => {
      if (name === 'groups') {
        return async function* (_selection: unknown, _bucket: unknown, from: string) {
          if (from === 'events')
            yield [{ ip: '17.0.0.1', accountId: '', was: '1', values: new Array(12).fill(''), agents: [], events: 1 }]
        }
      }
      return async () => {
        if (!['addresses', 'accountsAmong', 'botAgents', 'staged'].includes(name)) calls.push(name)
        if (name === 'complete') isComplete = true
        if (name === 'staged') return isComplete ? { tenantId: 't', run: 'r', events: 1 } : undefined
        return answers[name]?.shift() ?? usual[name]
      }
    },
  })
  const parts = {
    events: both,
    replacement: both,
    data,
    run: { id: 'r', by: 'Ann' },
    say: () => {},
    assertHeld: () => {},
  }
  return { calls, parts }
}

const BUILD = ['begin', 'stage', 'stagedSoFar']
const TAKE_OVER = ['complete', 'slices', 'remove', 'insert', 'isInserted', 'countFiltered', 'drop']

test('a copy is built, completed and used: old events are removed before new ones are inserted', async () => {
  const { calls, parts } = stores()
  await reenrich(SELECTION, parts)
  assert.deepEqual(calls, [...BUILD, ...TAKE_OVER])
})

test('a copy with other events than judged is built again, and given up in the end', async () => {
  const twice = stores({ stagedSoFar: [2] })
  await reenrich(SELECTION, twice.parts)
  assert.deepEqual(twice.calls, [...BUILD, ...BUILD, ...TAKE_OVER])
  const never = stores({ stagedSoFar: [2, 3, 2, 2, 2] })
  await assert.rejects(reenrich(SELECTION, never.parts), UnavailableError)
  assert.deepEqual(never.calls.slice(-2), ['stagedSoFar', 'discard'])
})

test('events stored twice are removed and inserted again', async () => {
  const { calls, parts } = stores({ isInserted: [false] })
  await reenrich(SELECTION, parts)
  const once = ['remove', 'insert', 'isInserted']
  assert.deepEqual(calls.slice(5), [...once, ...once, 'countFiltered', 'drop'])
})

test('a process that lost the lease writes nothing more', async () => {
  for (let held = 0; held < 8; held++) {
    const { calls, parts } = stores()
    let left = held
    const assertHeld = () => {
      if (left-- <= 0) throw new LeaseLostError('lost')
    }
    await reenrich(SELECTION, { ...parts, assertHeld }).catch((error) => assert.ok(error instanceof LeaseLostError))
    const writes = calls.filter((name) =>
      ['begin', 'stage', 'complete', 'remove', 'insert', 'countFiltered', 'drop'].includes(name),
    )
    assert.equal(writes.length, Math.min(held, 7))
  }
})
