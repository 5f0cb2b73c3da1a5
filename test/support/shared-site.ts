import { atProcessEnd } from './end.mjs'
import { TestHubSpot } from './hubspot.ts'
import { type MailServer, startMailServer } from './mail.ts'
import { TestOidcProvider } from './oidc-provider.ts'
import { takePort } from './ports.ts'
import { type ReadyFile, TestSite } from './site.ts'

export interface SharedSite {
  readonly site: TestSite
  readonly ready: ReadyFile & { readonly api_key: string; readonly tenant_id: string }
  /** Origin of the dashboard. */
  readonly origin: string
  /** Gets its mails. */
  readonly smtp: MailServer
  /** Its tenants connect to it with `TOKEN`. */
  readonly hubspot: TestHubSpot
  /** On another site than the dashboard, for a browser. Its people sign in. */
  readonly oidc: TestOidcProvider
  /** A link that signs in an operator. */
  signInLink(): Promise<string>
}

let shared: Promise<SharedSite> | undefined

/** An instance that tests of this process share: a start takes 7 s of CPU. No test stops it or counts its sessions. */
export function sharedSite(): Promise<SharedSite> {
  shared ??= start()
  return shared
}

async function start(): Promise<SharedSite> {
  const hubspot = await TestHubSpot.start({ after: atProcessEnd })
  // Alerts of tests report to this machine.
  const smtp = await startMailServer({ after: atProcessEnd })
  const mails = { SMTP_URL: smtp.url, SMTP_FROM: 'ipid <ipid@site.example>' }
  const oidc = await TestOidcProvider.start({ after: atProcessEnd }, 'localhost')
  const port = String(takePort())
  const { issuer, clientId, clientSecret, name } = oidc.admit(`http://127.0.0.1:${port}/sign-in/oidc`)
  const signIn = { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret, OIDC_NAME: name }
  const others = { WEBHOOK_PRIVATE: 'on', HUBSPOT_URL: hubspot.url, DASHBOARD_PORT: port }
  const site = new TestSite({ after: atProcessEnd }, { ...others, ...mails, ...signIn })
  const ready = (await site.start().ready()) as SharedSite['ready'] & { readonly dashboard_url: string }
  const signInLink = async () => (await site.ipid('dashboard')).stdout.trim()
  return { site, ready, origin: new URL(ready.dashboard_url).origin, smtp, hubspot, oidc, signInLink }
}
