import { createRequire } from 'node:module'

/*
 * The Node libraries as their documentation uses them first, with only host and key changed, and the visitor's address added. Each
 * opens to:
 * - `first()`: the calls of the documentation (page, track, identify, group, as far as it has them); resolves when the library's own
 *   callbacks have reported success, and rejects when one reports a failure;
 * - `send(name)`: one event; resolves and rejects likewise;
 * - `close()`.
 */

/** @typedef {{ base: string, key: string, ip: string, options?: object }} Place */
/** @typedef {{ first(): Promise<unknown>, send(name: string): Promise<unknown>, close(): Promise<unknown> | void }} Opened */

const require = createRequire(import.meta.url)

/** A key in the query is an old form, which the library warns of; it sends the others over https only. */
const SILENT = { trace() {}, debug() {}, info() {}, warn() {}, error() {} }

/** Calls a function that takes a callback as its last argument. */
function called(call) {
  return new Promise((resolve, reject) => {
    call((error, result) => (error ? reject(error) : resolve(result)))
  })
}

/** @param {Place} place @returns {Promise<Opened>} */
async function segment({ base, key, ip, options }) {
  const { Analytics } = await import('@segment/analytics-node')
  const analytics = new Analytics({ writeKey: key, host: base, path: '/s/segment/v1/batch', ...options })
  analytics.on('error', () => {})
  const context = { ip }
  const userId = '019mr8mf4r'
  return {
    first() {
      const sent = Promise.all([
        called((done) =>
          analytics.page(
            { userId, name: 'Pricing', properties: { url: 'https://acme.example/pricing' }, context },
            done,
          ),
        ),
        called((done) => analytics.identify({ userId, traits: { email: 'jane@acme.example' }, context }, done)),
        called((done) =>
          analytics.track({ userId, event: 'Item Purchased', properties: { revenue: 39.95 }, context }, done),
        ),
        called((done) =>
          analytics.group({ userId, groupId: 'segment-group', traits: { name: 'Initech' }, context }, done),
        ),
      ])
      void analytics.flush()
      return sent
    },
    send: (name) => called((done) => analytics.track({ userId, event: 'sent', properties: { name }, context }, done)),
    close: () => analytics.closeAndFlush({ timeout: 1_000 }),
  }
}

/** @param {Place} place @returns {Promise<Opened>} */
async function rudderstack({ base, key, ip, options }) {
  const Analytics = require('@rudderstack/rudder-sdk-node')
  const client = new Analytics(key, { dataPlaneUrl: `${base}/s/rudderstack`, ...options })
  const context = { ip }
  const userId = '1hKOmRA4el9Zt1WSfVJIVo4GRlm'
  return {
    first() {
      const sent = Promise.all([
        called((done) =>
          client.page(
            { userId, category: 'food', name: 'Pizza', properties: { url: 'https://dominos.example/' }, context },
            done,
          ),
        ),
        called((done) => client.identify({ userId, traits: { email: 'jane@acme.example' }, context }, done)),
        called((done) =>
          client.track({ userId, event: 'Item Purchased', properties: { revenue: 39.95 }, context }, done),
        ),
        called((done) =>
          client.group({ userId, groupId: 'rudderstack-group', traits: { name: 'Initech' }, context }, done),
        ),
      ])
      void client.flush()
      return sent
    },
    send: (name) => called((done) => client.track({ userId, event: 'sent', properties: { name }, context }, done)),
    async close() {},
  }
}

/** @param {Place & { mode?: 'v0' | 'v1' }} place @returns {Promise<Opened>} */
async function posthog({ base, key, ip, options, mode = 'v0' }) {
  const { PostHog } = await import('posthog-node')
  process.env.POSTHOG_CAPTURE_MODE = mode
  const client = new PostHog(key, { host: `${base}/s/posthog`, ...options })
  delete process.env.POSTHOG_CAPTURE_MODE
  const distinctId = 'distinct_id_of_the_user'
  /** The library has no callback for an event: it emits `flush` with those that it sent. */
  const waiting = new Map()
  client.on('flush', (messages) => {
    for (const { uuid } of messages) waiting.get(uuid)?.resolve()
  })
  const failures = []
  client.on('error', (error) => {
    failures.push(error)
    // Version 1 names the events that it gave up, and emits `flush` with them all the same.
    const { drops = [], retryExhausted = [] } = error
    for (const uuid of [...drops.map((drop) => drop.uuid), ...retryExhausted]) waiting.get(uuid)?.reject(error)
  })
  const sent = (uuid) => new Promise((resolve, reject) => waiting.set(uuid, { resolve, reject }))
  return {
    async first() {
      const properties = { $ip: ip }
      client.capture({
        distinctId,
        event: '$pageview',
        properties: { ...properties, $current_url: 'https://acme.example/pricing' },
      })
      client.capture({ distinctId, event: 'movie played', properties: { ...properties, movie_id: '123' } })
      client.identify({ distinctId, properties: { email: 'jane@acme.example' } })
      client.groupIdentify({ groupType: 'company', groupKey: `posthog-group-${mode}`, properties: { name: 'Initech' } })
      client.capture({ distinctId, event: 'grouped', groups: { company: `posthog-group-${mode}` }, properties })
      await client.getAllFlags(distinctId)
      await client.flush()
      if (failures.length > 0) throw failures[0]
    },
    send(name) {
      const uuid = crypto.randomUUID()
      const delivered = sent(uuid)
      client.capture({ distinctId, event: 'sent', uuid, properties: { name, $ip: ip } })
      return delivered
    },
    close: () => client.shutdown(1_000),
  }
}

/** @param {Place} place @returns {Promise<Opened>} */
async function amplitude({ base, key, ip, options }) {
  const { createInstance, Identify } = require('@amplitude/analytics-node')
  const client = createInstance()
  await client.init(key, { serverUrl: `${base}/s/amplitude/2/httpapi`, ...options }).promise
  const user = { user_id: 'user@amplitude.example', ip }
  const delivered = async ({ promise }) => {
    const { code, message } = await promise
    if (code !== 200) throw new Error(message)
  }
  return {
    first() {
      const identify = new Identify().set('email', 'jane@acme.example')
      const sent = [
        client.track('Page Viewed', { page_url: 'https://acme.example/pricing' }, user),
        client.track('Button Clicked', { hover_time: '100ms' }, user),
        client.identify(identify, user),
        client.setGroup('company', 'amplitude-group', user),
        client.groupIdentify('company', 'amplitude-group', new Identify().set('name', 'Initech'), user),
        client.track({ event_type: 'grouped', groups: { company: 'amplitude-group' }, ...user }),
      ]
      void client.flush()
      return Promise.all(sent.map(delivered))
    },
    send: (name) => delivered(client.track('sent', { name }, user)),
    close: () => client.flush().promise,
  }
}

/** @param {Place} place @returns {Promise<Opened>} */
async function mixpanel({ base, key, ip }) {
  const Mixpanel = require('mixpanel')
  const { host, protocol } = new URL(base)
  const client = Mixpanel.init(key, { host, protocol: protocol.slice(0, -1), path: '/s/mixpanel', key, logger: SILENT })
  const distinct_id = 'billybob'
  const company = 'mixpanel-group'
  return {
    first: () =>
      Promise.all([
        called((done) =>
          client.track('Page View', { distinct_id, ip, current_url: 'https://acme.example/pricing' }, done),
        ),
        called((done) => client.track('played_game', { distinct_id, ip }, done)),
        called((done) => client.people.set(distinct_id, { $first_name: 'Billy' }, { $ip: ip }, done)),
        called((done) => client.people.increment(distinct_id, 'page_views', 1, { $ip: ip }, done)),
        called((done) => client.groups.set('company', company, { $name: 'Initech' }, { $ip: ip }, done)),
        called((done) =>
          client.track_batch([{ event: 'grouped', properties: { distinct_id, ip, company, time: new Date() } }], done),
        ),
        called((done) =>
          client.import('old event', new Date(Date.now() - 864e5), { distinct_id, ip, gender: '' }, done),
        ),
        called((done) =>
          client.import_batch(
            [{ event: 'old too', properties: { distinct_id, ip, time: new Date(Date.now() - 864e5) } }],
            done,
          ),
        ),
        called((done) => client.alias(distinct_id, 'billy', done)),
      ]),
    send: (name) => called((done) => client.track('sent', { distinct_id, ip, name }, done)),
    close() {},
  }
}

/** @param {Place} place @returns {Promise<Opened>} */
async function snowplow({ base, key, ip, options }) {
  const { newTracker, buildPageView, buildSelfDescribingEvent, buildStructEvent } = await import(
    '@snowplow/node-tracker'
  )
  const { hostname, port, protocol } = new URL(base)
  const waiting = new Map()
  const failures = []
  const tracker = newTracker(
    { namespace: 'myTracker', appId: 'myApp' },
    {
      endpoint: hostname,
      protocol: protocol.slice(0, -1),
      port: Number(port),
      postPath: `/s/snowplow/${key}/com.snowplowanalytics.snowplow/tp2`,
      onRequestSuccess(events) {
        for (const { eid } of events) waiting.get(eid)?.()
      },
      onRequestFailure: (failure) => failures.push(failure),
      ...options,
    },
  )
  tracker.setUserId('user-1')
  const track = (event) => {
    // Each event removes the address.
    tracker.setIpAddress(ip)
    const { eid } = tracker.track(event)
    return new Promise((resolve) => waiting.set(eid, resolve))
  }
  return {
    async first() {
      const user = { schema: 'iglu:com.acme/user/jsonschema/1-0-0', data: { type: 'tester' } }
      tracker.addGlobalContexts([user])
      const sent = [
        track(
          buildPageView({
            pageUrl: 'http://www.example.com/?utm_source=x',
            pageTitle: 'example page',
            referrer: 'http://google.com',
          }),
        ),
        track(
          buildSelfDescribingEvent({
            event: { schema: 'iglu:com.acme/viewed_product/jsonschema/1-0-0', data: { price: 20 } },
          }),
        ),
        track(buildStructEvent({ category: 'shop', action: 'add-to-basket', property: 'pcs', value: 25 })),
      ]
      await tracker.flush()
      if (failures.length > 0) throw new Error(`status ${failures[0].status}`)
      return Promise.all(sent)
    },
    send: (name) => track(buildStructEvent({ category: 'shop', action: 'sent', property: name, value: 1 })),
    close: () => tracker.flush(),
  }
}

/** @param {Place} place @returns {Promise<Opened>} */
async function matomo({ base, key, ip }) {
  const MatomoTracker = require('matomo-tracker')
  const tracker = new MatomoTracker(1, `${base}/s/matomo/${key}/matomo.php`)
  const failures = []
  tracker.on('error', (error) => failures.push(error))
  const visit = { cip: ip, token_auth: key, _id: 'AA8147677B1F5C81' }
  const bulk = (events) =>
    new Promise((resolve, reject) => {
      tracker.trackBulk(events, (text) => {
        if (text === `{"status":"success","tracked":${events.length},"invalid":0}`) resolve()
        else reject(new Error(text))
      })
    })
  return {
    async first() {
      // A single request has no callback for success: only for failures.
      tracker.track({
        url: 'http://example.com/track/this/url',
        action_name: 'This will be shown',
        ua: 'Node.js',
        ...visit,
      })
      await bulk([
        { ...visit, e_c: 'Buy', e_a: 'rightButton', e_v: '2', cdt: new Date().toISOString() },
        { ...visit, url: 'http://example.com/', uid: 'jane@acme.example' },
      ])
      if (failures.length > 0) throw new Error(String(failures[0]))
    },
    send: (name) => bulk([{ ...visit, e_c: name, e_a: 'sent' }]),
    close() {},
  }
}

/** The libraries by the kind of their source. */
export const libraries = {
  segment: { kind: 'segment', open: segment },
  rudderstack: { kind: 'rudderstack', open: rudderstack },
  posthog: { kind: 'posthog', open: posthog },
  'posthog, version 1': { kind: 'posthog', open: (place) => posthog({ ...place, mode: 'v1' }) },
  amplitude: { kind: 'amplitude', open: amplitude },
  mixpanel: { kind: 'mixpanel', open: mixpanel },
  snowplow: { kind: 'snowplow', open: snowplow },
  matomo: { kind: 'matomo', open: matomo },
}
