import mixpanel from 'mixpanel-browser'
import { called, example } from './place.js'

example(async ({ base, key }) => {
  mixpanel.init(key, { api_host: `${base}/s/mixpanel`, track_pageview: true, persistence: 'localStorage' })
  mixpanel.identify('13793')
  mixpanel.set_group('company', 'mixpanel-group')
  const answers = [
    await called((done) => mixpanel.track('Sign Up', { 'Signup Type': 'Referral' }, { send_immediately: true }, done)),
    await called((done) => mixpanel.people.set({ $name: 'Jane Doe', $email: 'jane@acme.example' }, done)),
    await called((done) => mixpanel.get_group('company', 'mixpanel-group').set({ name: 'Initech' }, done)),
  ]
  return answers
})
