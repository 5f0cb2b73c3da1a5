import * as amplitude from '@amplitude/analytics-browser'
import { example } from './place.js'

example(async ({ base, key }) => {
  await amplitude.init(key, { serverUrl: `${base}/s/amplitude/2/httpapi`, fetchRemoteConfig: false }).promise
  const identify = new amplitude.Identify().set('email', 'jane@acme.example')
  const results = await Promise.all(
    [
      amplitude.setGroup('company', 'amplitude-group'),
      amplitude.identify(identify),
      amplitude.groupIdentify('company', 'amplitude-group', new amplitude.Identify().set('name', 'Initech')),
      amplitude.track('Sign Up', { plan: 'pro' }),
    ].map(({ promise }) => promise),
  )
  const failed = results.find(({ code }) => code !== 200)
  if (failed !== undefined) throw new Error(failed.message)
})
