import assert from 'node:assert/strict'
import { test } from 'node:test'
import { retryAfterMs } from '../../../src/run/retry-after.ts'

const NOW = Date.UTC(2026, 10, 28, 20, 0, 0)
const DAY = 86_400_000

const HEADERS: readonly (readonly [header: string | null | undefined, ms: number | undefined])[] = [
  ['60', 60_000],
  [' 5 ', 5_000],
  ['0', 0],
  ['99999999999999999999', DAY],
  ['Sat, 28 Nov 2026 20:02:00 GMT', 120_000],
  ['Saturday, 28-Nov-26 20:02:00 GMT', 120_000],
  ['Sat Nov 28 20:02:00 2026', 120_000],
  ['Sat, 28 Nov 2026 19:00:00 GMT', 0],
  ['Sun, 06 Dec 2026 20:00:00 GMT', DAY],
  ['', undefined],
  [null, undefined],
  [undefined, undefined],
  ['soon', undefined],
  ['-5', undefined],
  ['1.5', undefined],
  ['2026-11-28', undefined],
  ['Sat, 99 Nov 2026 20:02:00 GMT', undefined],
]

test('Retry-After is seconds or an HTTP date, in whatever zone this machine is', (t) => {
  const zone = process.env.TZ
  t.after(() => {
    if (zone === undefined) delete process.env.TZ
    else process.env.TZ = zone
  })
  process.env.TZ = 'Asia/Tokyo'
  for (const [header, ms] of HEADERS) assert.equal(retryAfterMs(header, NOW, DAY), ms, String(header))
})
