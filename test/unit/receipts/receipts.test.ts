import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EventReceipt } from '../../../schemas/api/receipt.ts'
import type { Found } from '../../../src/operations/receipts/ports.ts'
import { Receipts } from '../../../src/operations/receipts/receipts.ts'
import { whyUnknown } from '../../../src/operations/receipts/unknown.ts'
import { BackpressureError, UnavailableError } from '../../../src/run/errors.ts'

const NOTHING: Found = { receipts: [], complete: true }
const NOW = Date.UTC(2026, 10, 22, 8)
const RECEIPT: EventReceipt = { status: 'stored', received_at: '2026-11-22T07:00:00.000Z', lane: 'live' }

function setUp(
  found: Partial<Record<'waiting' | 'unarchived' | 'dead' | 'archived', Found>> & {
    stored?: () => Promise<readonly EventReceipt[]>
    claimedAtMs?: number
  } = {},
) {
  const asked: { known: readonly EventReceipt[]; aroundMs: readonly number[] }[] = []
  const order: string[] = []
  const say = <T>(name: string, answer: T) => {
    order.push(name)
    return Promise.resolve(answer)
  }
  const receipts = new Receipts({
    moving: {
      waiting: () => say('waiting', found.waiting ?? NOTHING),
      unarchived: () => say('unarchived', found.unarchived ?? NOTHING),
      dead: () => say('dead', found.dead ?? NOTHING),
      claimedAtMs: () => say('claim', found.claimedAtMs),
    },
    stored: { find: () => say('stored', undefined).then(found.stored ?? (async () => [])) },
    archive: {
      find(_key, known, aroundMs) {
        asked.push({ known, aroundMs })
        return say('archive', found.archived ?? NOTHING)
      },
    },
    clock: { now: () => NOW },
  })
  const findOf = (tenantId: string, archived = false, aroundMs?: number) =>
    receipts.find({ tenantId, eventId: 'e', archived, aroundMs })
  const find = (archived?: boolean, aroundMs?: number) => findOf('t', archived, aroundMs)
  return { find, findOf, asked, order }
}

test('sources are asked in the order in which an event moves, and only those that can know', async () => {
  const { find, order } = setUp()
  await find()
  assert.deepEqual(order, ['waiting', 'stored', 'claim', 'dead'])
  await find(true)
  assert.deepEqual(order.slice(4), ['waiting', 'unarchived', 'stored', 'claim', 'dead', 'archive'])
})

test('the archive is asked around all known times', async () => {
  const { find, asked } = setUp({ stored: async () => [RECEIPT], claimedAtMs: 5 })
  await find(true, 7)
  assert.deepEqual(asked, [{ known: [RECEIPT], aroundMs: [7, 5, NOW] }])
})

test('a claim without its event is on its way only if some place was not searched', async () => {
  const backlog = { receipts: [], complete: false }
  assert.deepEqual(await setUp({ claimedAtMs: 5, waiting: backlog }).find(), {
    event_id: 'e',
    status: 'in_progress',
    receipts: [{ status: 'in_progress' }],
    incomplete: ['pipeline'],
  })
  assert.deepEqual(await setUp({ claimedAtMs: 5 }).find(), { incomplete: [] })
  const { status } = (await setUp({
    claimedAtMs: 5,
    waiting: backlog,
    stored: async () => [RECEIPT],
  }).find()) as EventReceipt
  assert.equal(status, 'stored')
})

test('an incomplete search is reported', async () => {
  const part = { receipts: [], complete: false }
  const found = await setUp({ waiting: part, unarchived: part, dead: part, archived: part }).find(true)
  assert.deepEqual(found, { incomplete: ['pipeline', 'dead_letters', 'archive'] })
  assert.equal(whyUnknown({ incomplete: [] }, true), 'there is no such event')
  assert.match(whyUnknown({ incomplete: [] }, false), /without an archive nothing is kept of filtered/)
  assert.match(
    whyUnknown({ incomplete: ['pipeline', 'archive'] }, true),
    /not searched to the end: .*in progress, the archive/,
  )
})

test('parallel searches are limited, and a failed one frees its slot', async () => {
  let release = (_: readonly EventReceipt[]) => {}
  const stored = new Promise<readonly EventReceipt[]>((resolve) => {
    release = resolve
  })
  const { find, findOf, order } = setUp({ stored: () => stored })
  const open = Array.from({ length: 10 }, () => find())
  const refused = find().then(
    () => 'answered',
    (error) => error,
  )
  assert.ok((await Promise.race([refused, new Promise(setImmediate)])) instanceof BackpressureError)
  const others = [findOf('other'), findOf('other')]
  await new Promise(setImmediate)
  assert.equal(order.filter((name) => name === 'stored').length, 4, 'two of each tenant')
  release([])
  await Promise.all([...open, ...others])
  await find()
  const down = setUp({ stored: () => Promise.reject(new UnavailableError('down')) })
  for (let i = 0; i < 6; i++) await assert.rejects(down.find(), UnavailableError)
})
