import { RudderAnalytics } from '@rudderstack/analytics-js/bundled'
import { called, example } from './place.js'

example(async ({ base, key }) => {
  const analytics = new RudderAnalytics()
  analytics.load(key, `${base}/s/rudderstack`, { configUrl: `${base}/s/rudderstack` })
  await called((done) => analytics.ready(done))
  // Its callbacks say that a call is in its queue, which it sends until it is empty.
  await called((done) => analytics.page('Home', {}, done))
  await called((done) => analytics.identify('1hKOmRA4GRlm', { email: 'jane@acme.example' }, done))
  await called((done) => analytics.track('Order Completed', { revenue: 30 }, done))
  await called((done) => analytics.group('rudderstack-group', { name: 'Initech' }, done))
})
