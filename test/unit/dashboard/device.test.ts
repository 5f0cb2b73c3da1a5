import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deviceOf } from '../../../src/dashboard/server/signing.ts'

test('a device is named in a few words, and never in those of the client', () => {
  const webkit = 'AppleWebKit/537.36 (KHTML, like Gecko)'
  const cases: readonly (readonly [string, string | undefined])[] = [
    [`Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${webkit} Chrome/140.0.0.0 Safari/537.36`, 'Chrome on macOS'],
    [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${webkit} Chrome/140.0 Safari/537.36 Edg/140.0`, 'Edge on Windows'],
    ['Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:142.0) Gecko/20100101 Firefox/142.0', 'Firefox on Linux'],
    [`Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) ${webkit} Version/18.5 Safari/604.1`, 'Safari on iPhone'],
    [`Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) ${webkit} CriOS/140 Safari/604.1`, 'Chrome on iPhone'],
    [
      `Mozilla/5.0 (Linux; Android 10; K) ${webkit} SamsungBrowser/28 Chrome/130 Safari/537.36`,
      'Samsung Internet on Android',
    ],
    [`Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) ${webkit} Chrome/140.0.0.0 Safari/537.36`, 'Chrome on ChromeOS'],
    ['curl/8.5.0', undefined],
    ['', undefined],
    ['<b>Linux</b> {{secret}}', 'Linux'],
  ]
  for (const [userAgent, device] of cases) assert.equal(deviceOf(userAgent), device, userAgent)
})
