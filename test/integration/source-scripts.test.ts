import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHttp } from '../support/http.ts'

const KEY = `pub_${'a'.repeat(40)}`

test('a page that asks for the script of a vendor is told to load it from there', async (t) => {
  const { url } = await startHttp(t)
  const scripts: readonly (readonly [kind: string, path: string, from: RegExp])[] = [
    ['posthog', '/static/array.js', /PostHog: .*us-assets\.i\.posthog\.com/],
    ['posthog', '/static/1.449.2/array.js', /PostHog: .*us-assets\.i\.posthog\.com/],
    ['posthog', '/static/recorder.js?v=1.449.2', /PostHog: .*us-assets\.i\.posthog\.com/],
    ['segment', `/analytics.js/v1/${KEY}/analytics.min.js`, /Segment: .*cdn\.segment\.com/],
    ['rudderstack', '/v3/modern/rsa.min.js', /RudderStack: .*cdn\.rudderlabs\.com/],
    ['mixpanel', '/libs/mixpanel-2-latest.min.js', /Mixpanel: .*cdn\.mxpnl\.com/],
    ['amplitude', '/libs/analytics-browser-2.48.1-min.js.gz', /Amplitude: .*cdn\.amplitude\.com/],
    ['amplitude', `/script/${KEY}.js`, /Amplitude: .*cdn\.amplitude\.com/],
    ['snowplow', '/sp.js', /Snowplow: .*where it is now/],
    ['matomo', '/matomo.js', /Matomo: .*your Matomo/],
    ['matomo', '/piwik.js', /Matomo: .*your Matomo/],
  ]
  for (const [kind, path, from] of scripts) {
    for (const place of ['', `/s/${kind}`, `/s/${kind}/${KEY}`]) {
      const answer = await fetch(url + place + path)
      assert.equal(answer.status, 404, place + path)
      const { detail } = (await answer.json()) as { detail: string }
      assert.match(detail, from, place + path)
      assert.match(detail, /Sources in the dashboard, and \.\/ipid source show, print/)
    }
  }
})
