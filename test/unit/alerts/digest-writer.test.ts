import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DigestWriter } from '../../../src/alerts/digests/writer.ts'
import type { Digest } from '../../../src/alerts/redis/alert-store.ts'
import { LeaseLostError } from '../../../src/run/errors.ts'
import { inUtc } from '../../../src/run/time-zone.ts'
import { WEEK } from '../../support/home-week.ts'
import { handClock } from '../../support/tenants.ts'

/** A Monday, half an hour after the digests were due. */
const START_MS = Date.UTC(2026, 10, 23, 8, 30)
const MADE = '2026-11-01T00:00:00.000Z'

const digestOf = (id: string, segment_id?: string): Digest => ({
  ...{
    id,
    tenantId: 'acme',
    name: id,
    on: 'digest',
    to: 'email',
    target: `${id}@b.example`,
    every: 'day',
    at: '08:00',
  },
  ...{ created_at: MADE, active_since: MADE, ...(segment_id !== undefined && { segment_id }) },
})
const DIGESTS = [digestOf('slow', 'heavy'), digestOf('quick')]
const SEGMENTS = new Map([['heavy', { id: 'heavy', name: 'Heavy', where: { tag: ['a'] } }]]) as never

function startWriter(failure: { error: Error | undefined }) {
  const clock = handClock(START_MS)
  const sent: string[] = []
  const asked: string[] = []
  const sentAt = new Map<string, number>()
  const writer = new DigestWriter({
    clock,
    occurrences: {
      progress: async (id: string) => ({ digestMs: sentAt.get(id) ?? Date.parse(MADE), digestFromMs: 0 }),
      sendDigest: async ({ id }: { id: string }, _lines: number, _message: unknown, dueMs: number) => {
        sent.push(id)
        sentAt.set(id, dueMs)
      },
    } as never,
    readWeek: async (_tenant, where) => {
      asked.push(where === undefined ? 'quick' : 'slow')
      if (where !== undefined && failure.error !== undefined) throw failure.error
      return WEEK
    },
    zoneOf: inUtc,
    contextOf: ({ id }) => ({
      ...{ tenantId: 'acme', alertId: id, alertName: id, segment: undefined },
      dashboardUrl: '',
    }),
  })
  return { clock, sent, asked, write: () => writer.write(DIGESTS, SEGMENTS) }
}

test('a digest whose week cannot be read keeps no other from being sent, and is tried again a minute later', async () => {
  const failure: { error: Error | undefined } = { error: new Error('too slow') }
  const { clock, sent, asked, write } = startWriter(failure)
  await assert.rejects(write(), /too slow/)
  assert.deepEqual(sent, ['quick'])
  await write()
  assert.deepEqual(asked, ['slow', 'quick'], 'a heavy query is not repeated at once')
  failure.error = undefined
  clock.nowMs += 60_000
  await write()
  await write()
  assert.deepEqual(sent, ['quick', 'slow'])
})

test('a lost lease ends the turn at once', async () => {
  const { sent, write } = startWriter({ error: new LeaseLostError('lost') })
  await assert.rejects(write(), LeaseLostError)
  assert.deepEqual(sent, [])
})
