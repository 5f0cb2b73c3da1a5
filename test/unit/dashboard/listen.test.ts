import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { Registry } from 'prom-client'
import type { People } from '../../../src/dashboard/server/people.ts'
import { createDashboard } from '../../../src/dashboard/server/server.ts'
import { type SessionStore, Sessions } from '../../../src/dashboard/server/sessions.ts'
import { systemClock } from '../../../src/run/clock.ts'
import { testedEngine } from '../../support/engines.ts'
import { silent } from '../../support/pipeline.ts'

async function start(t: TestContext, host: string, port: number): Promise<void> {
  const server = await createDashboard({
    ...{ host, port, publicUrl: undefined, engine: testedEngine() },
    ...{ sessions: new Sessions({} as SessionStore, systemClock), people: {} as People },
    ...{
      routes: [],
      mails: undefined,
      oidc: undefined,
      addresses: { addressOf: async () => undefined, waitingFor: async () => [], confirm: async () => false },
      sharedPages: { open: async () => ({ status: 404, body: '' }) },
      digests: { subscriptionOfLink: async () => 'gone' as const, unsubscribe: async () => {} },
      findTenant: async () => undefined,
    },
    ...{ persisted: async () => {}, clock: systemClock, log: silent, metrics: new Registry() },
  })
  t.after(() => server.stop())
  await server.start()
}

test('a dashboard that cannot listen names its own settings', async (t) => {
  const name = 'StartupError'
  await assert.rejects(start(t, '192.0.2.1', 0), {
    name,
    message: /does not have this address; correct DASHBOARD_HOST$/,
  })
  const other = createServer()
  const port = await new Promise<number>((resolve) => {
    other.listen(0, '127.0.0.1', () => resolve((other.address() as { port: number }).port))
  })
  t.after(() => other.close())
  await assert.rejects(start(t, '127.0.0.1', port), { name, message: /choose another with DASHBOARD_PORT, or/ })
})
