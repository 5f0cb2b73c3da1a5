import posthog from 'posthog-js'
import { called, example } from './place.js'

example(async ({ base, key }) => {
  await called((loaded) => posthog.init(key, { api_host: `${base}/s/posthog`, loaded }))
  posthog.identify('jane-1', { email: 'jane@acme.example' })
  posthog.group('company', 'posthog-group', { name: 'Initech' })
  posthog.capture('user_signed_up', { login_type: 'email' })
  await called((done) => posthog.onFeatureFlags(done))
})
