import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { UnavailableError } from '../../../src/run/errors.ts'
import { proxiedOf, proxiedRemedy, proxiedText } from '../../../src/tenants/sources/proxied.ts'
import { type ProxiedSender, ProxiedWatch, warningOf } from '../../../src/tenants/sources/proxied-senders.ts'
import { until } from '../../support/until.ts'

test('most events from infrastructure are reported, with the likely mistake', () => {
  const reserved = proxiedOf({ reserved: 120, isp: 3 }, 150)!
  assert.equal(
    `${proxiedText(reserved)} ${proxiedRemedy(reserved)}`,
    '120 of 150 events came from addresses of a private network, and were filtered as noise. That is most likely your own proxy or ' +
      'server: send the address of the visitor, which a proxy adds as X-Forwarded-For.',
  )
  const cdn = proxiedOf({ cdn: 10 }, 10)!
  assert.match(proxiedText(cdn), /^All 10 events came from addresses of a content delivery network/)
  assert.match(proxiedRemedy(cdn), /CF-Connecting-IP/)
  assert.equal(proxiedOf({ cdn: 9 }, 9), undefined)
  assert.equal(proxiedOf({ cdn: 119 }, 150), undefined)
  assert.deepEqual(proxiedOf({ cloud: 6, hosting: 5 }, 12), { by: 'cloud', by_events: 6, events: 11, all: 12 })
  assert.match(
    proxiedText(proxiedOf({ cdn: 3, cloud: 1_000, vpn: 9, reserved: 8 }, 1_020)!),
    /^All 1,020 events came from addresses of infrastructure, 1,000 of them of a cloud, and were filtered as noise\.$/,
  )
  assert.equal(proxiedOf({ cdn: 4, cloud: 5 }, 9), undefined, 'nine prove nothing')
  assert.equal(proxiedOf({ cdn: 60, cloud: 59 }, 150), undefined)
  assert.equal(proxiedOf({ isp: 500, bot: 500, own: 500 }, 500), undefined, 'visitors, bots and rules')
})

const sender = (source_id: string, events = 20): ProxiedSender => ({
  ...{ tenant_id: 'acme', source_id, by: 'cdn', by_events: events, events, all: 20 },
})

test('a warning names the source; API keys are one sender', () => {
  assert.equal(warningOf([]), undefined)
  const { text, ...facts } = warningOf([sender('', 16), sender('src_1')])!
  assert.deepEqual(facts, { network: 'cdn', share: 0.8 })
  assert.match(text, /^16 of 20 events since yesterday came from addresses of a content delivery network/)
  assert.match(
    warningOf([sender('src_1')])!.text,
    /^Source src_1: All 20 events .* \.\/ipid source list acme, say what to do\.$/,
  )
})

test('the watch shows senders in the metrics while the finding holds, and logs each once', async (t) => {
  let found: readonly ProxiedSender[] | Error = new UnavailableError('down')
  const read = async () => {
    if (found instanceof Error) throw found
    return found
  }
  const metrics = new Registry()
  const lines: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) })
  const watch = new ProxiedWatch({ read, metrics, log, everyMs: 5 })
  await watch.start()
  t.after(() => watch.stop())
  const shown = (isShown: (text: string) => boolean) =>
    until(() => metrics.getSingleMetricAsString('ipid_tenant_one_network_share'), isShown)
  found = [sender('src_1', 16)]
  const text = await shown((metric) => metric.includes('{'))
  assert.match(text, /\{tenant="acme",source="src_1",network="cdn"\} 0\.8$/m)
  found = [sender('src_1', 20), sender('')]
  await shown((metric) => metric.includes('source=""'))
  found = []
  await shown((metric) => !metric.includes('{'))
  assert.equal(lines.length, 2, lines.join(''))
})
