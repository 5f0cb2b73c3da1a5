import {
  newTracker,
  setUserId,
  trackPageView,
  trackSelfDescribingEvent,
  trackStructEvent,
} from '@snowplow/browser-tracker'
import { example } from './place.js'

example(
  ({ base, key }) =>
    new Promise((resolve, reject) => {
      let delivered = 0
      newTracker('sp1', `${base}/s/snowplow/${key}`, {
        appId: 'my-app',
        onRequestSuccess(events) {
          delivered += events.length
          if (delivered === 3) resolve()
        },
        onRequestFailure: ({ status, message }) => reject(new Error(`${status} ${message}`)),
      })
      setUserId('jane@acme.example')
      trackPageView()
      trackSelfDescribingEvent({ event: { schema: 'iglu:com.acme/signed_up/jsonschema/1-0-0', data: { plan: 'pro' } } })
      trackStructEvent({ category: 'shop', action: 'add-to-basket', label: 'web', property: 'pcs', value: 2 })
    }),
)
