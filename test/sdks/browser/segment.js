import { AnalyticsBrowser } from '@segment/analytics-next'
import { example } from './place.js'

example(async ({ base, key }) => {
  const { protocol, host } = new URL(base)
  const analytics = AnalyticsBrowser.load(
    { writeKey: key, cdnURL: `${base}/s/segment` },
    { integrations: { 'Segment.io': { protocol: protocol.slice(0, -1), apiHost: `${host}/s/segment/v1` } } },
  )
  const contexts = await Promise.all([
    analytics.page(),
    analytics.identify('hello user', { email: 'jane@acme.example' }),
    analytics.track('hello world', { plan: 'pro' }),
    analytics.group('segment-group', { name: 'Initech' }),
  ])
  const failed = contexts.map((context) => context.failedDelivery()).filter(Boolean)
  if (failed.length > 0) throw new Error(String(failed[0].reason))
})
