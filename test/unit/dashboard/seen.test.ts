import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LiveEvent } from '../../../schemas/live-event.ts'
import { seenOf } from '../../../src/dashboard/pages/lib/seen.ts'

const EVENT: LiveEvent = {
  ...{ status: 'ok', company: 'Apple', domain: 'apple.com', country_code: 'US', classification: 'business' },
  ...{ quality: 90, rule: null, filtered_as: null, received_at: '2026-03-01T12:00:00.000Z', event_type: 'page' },
  ...{ ip: '17.253.144.10', page: 'www.example.com/pricing' },
}
const VISIT = 'The visit of www.example.com/pricing from'

const CASES: readonly (readonly [change: Partial<LiveEvent>, text: string])[] = [
  [{}, `${VISIT} 17.253.144.10 was received and kept: ipid recognised Apple.`],
  [
    { company: null, classification: null },
    `${VISIT} 17.253.144.10 was received and kept. Its network belongs to no company that ipid knows.`,
  ],
  [
    { status: 'filtered', ip: '127.0.0.1', classification: 'reserved' },
    `${VISIT} 127.0.0.1 was received and left out, because 127.0.0.1 is your own machine, and not on the internet.`,
  ],
  [
    { status: 'filtered', ip: '10.0.0.7', classification: 'reserved' },
    `${VISIT} 10.0.0.7 was received and left out, because that address is inside a private network, and not on the internet.`,
  ],
  [
    { status: 'filtered', ip: null, classification: 'isp' },
    'The visit of www.example.com/pricing was received and left out, because its address belongs to an access provider: people at home and on phones have no known company.',
  ],
  [
    { status: 'filtered', rule: 'own 17.0.0.0/8', filtered_as: 'own' },
    `${VISIT} 17.253.144.10 was received and left out, because a rule of yours says so: own 17.0.0.0/8.`,
  ],
  [
    { status: 'filtered', filtered_as: 'bot:googlebot' },
    `${VISIT} 17.253.144.10 was received and left out, because its user agent names the bot googlebot.`,
  ],
  [
    { status: 'invalid_ip', ip: 'x' },
    `${VISIT} x was received, but without an address that can be read, so no company can be found.`,
  ],
]

test('a page view that was seen is a sentence: what it was, and what ipid made of it', () => {
  for (const [change, text] of CASES) assert.equal(seenOf({ ...EVENT, ...change } as LiveEvent).text, text)
  assert.equal(seenOf(EVENT).next, undefined)
  assert.match(seenOf({ ...EVENT, status: 'filtered', classification: 'isp' }).next!, /^The script works/)
})
