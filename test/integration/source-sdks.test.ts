import assert from 'node:assert/strict'
import dns from 'node:dns'
import { rmSync } from 'node:fs'
import { test } from 'node:test'
import { startInstance } from '../support/instance.ts'
import { companiesDir, createSource, installSdks, nodeLibraries } from '../support/source-sdks.ts'
import { until } from '../support/until.ts'

/* The real Node libraries of seven tools, against a whole instance. */

const skip = await installSdks()

/** The types of the events that `first` of test/sdks/node.mjs sends, in order of their names. */
const EVENTS: Readonly<Record<string, readonly string[]>> = {
  segment: ['Item Purchased', 'group', 'identify', 'page'],
  rudderstack: ['Item Purchased', 'group', 'identify', 'page'],
  posthog: ['$pageview', 'grouped', 'movie played'],
  'posthog, version 1': ['$pageview', 'grouped', 'movie played'],
  amplitude: ['$groupidentify', '$identify', '$identify', 'Button Clicked', 'Page Viewed', 'grouped'],
  mixpanel: ['Page View', 'group', 'grouped', 'identify', 'identify', 'old event', 'old too', 'played_game'],
  snowplow: ['add-to-basket', 'page', 'viewed_product'],
  matomo: ['page', 'page', 'rightButton'],
}

/** Libraries with groups: a group is an account. */
const GROUPS = ['segment', 'rudderstack', 'posthog', 'posthog, version 1', 'amplitude', 'mixpanel']

test('Node libraries send their first example, and its company is found', { skip }, async (t) => {
  const libraries = await nodeLibraries()
  const dir = companiesDir(Object.keys(libraries).length)
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  const asked: string[] = []
  // The instance is at an address, so no library looks up a name unless it is that of its own vendor.
  t.mock.method(dns, 'lookup', (name: string, ...rest: unknown[]) => {
    asked.push(name)
    const callback = rest.at(-1) as (error: Error) => void
    callback(new Error(`${name} is not looked up in tests`))
  })
  const instance = await startInstance(t, { ENRICH_DIR: dir, SINK_LINGER_MS: '100' })
  for (const [n, [name, { kind, open }]] of Object.entries(libraries).entries()) {
    await t.test(name, async () => {
      const source = await createSource(instance, kind)
      const library = await open({ base: instance.ready.url, key: source.key, ip: `17.${n}.0.1` })
      await library.first()
      await library.close()
      const types = `SELECT event_type FROM events WHERE source_id = '${source.source_id}' ORDER BY event_type`
      await until(
        () => instance.query(types),
        (found) => found === EVENTS[name]!.join('\n'),
      )
      const stored = EVENTS[name]!.length
      const accounts = `SELECT sum(events), any(business_name) FROM accounts WHERE domain = 'c${n}.example'`
      assert.equal(await instance.query(accounts), `${stored}\tCompany ${n}`)
      if (GROUPS.includes(name)) {
        const group = `SELECT domain FROM accounts WHERE account_id LIKE '${kind}-group%' AND domain = 'c${n}.example'`
        assert.equal(await instance.query(group), `c${n}.example`)
      }
      const facts = `SELECT DISTINCT domain, ip FROM events WHERE source_id = '${source.source_id}'`
      assert.equal(await instance.query(facts), `c${n}.example\t17.${n}.0.1`)
    })
  }
  assert.deepEqual(asked, [])
})
