import { usePathname } from 'wouter-preact/use-browser-location'
import { isAtLeast } from '../../../schemas/dashboard/roles.ts'
import type { SessionAnswer } from '../../../schemas/dashboard/session.ts'
import { UTC } from '../../run/time-zone.ts'
import { SampleBanner } from './components/sample-data.tsx'
import { Problem } from './design/notice.tsx'
import { Splash } from './design/splash.tsx'
import { setCsrfToken } from './lib/api.ts'
import { setZone } from './lib/days.ts'
import { RoleContext } from './lib/may.ts'
import { pageAt } from './lib/page-at.ts'
import type { PageProps } from './lib/page-props.ts'
import { SessionContext, useSession } from './lib/session.ts'
import { useTitle } from './lib/title.ts'
import { useData } from './lib/use-data.ts'
import { useReturn } from './lib/use-return.ts'
import { NoTenant, NotAllowed, NotFound } from './pages/not-found.tsx'
import { SignIn } from './pages/sign-in.tsx'
import { PAGES, type PageEntry } from './pages.tsx'
import { Shell } from './shell/shell.tsx'
import { WaitingShell } from './shell/waiting.tsx'
import { TEXTS } from './texts/texts.ts'

/** The whole dashboard. Without a session, explains how to sign in. */
export function App() {
  const found = pageAt(PAGES, usePathname())
  const session = useData<SessionAnswer>('/api/session')
  const isSignedOut = session.error?.status === 401
  const isReturning = useReturn(isSignedOut ? undefined : session.value)
  if (isSignedOut) return <SignIn />
  if (session.value === undefined) {
    if (session.error === undefined) return <WaitingShell />
    return (
      <Splash title="ipid">
        <Problem error={session.error} onRetry={session.reload} />
      </Splash>
    )
  }
  if (isReturning) return <WaitingShell />
  setCsrfToken(session.value.csrf_token)
  return (
    <SessionContext.Provider value={{ ...session.value, reload: session.reload }}>
      <Shell>
        {found === undefined ? (
          <NotFound />
        ) : (
          <Shown key={found.entry.path} {...found.entry} parameters={found.parameters} />
        )}
      </Shell>
    </SessionContext.Provider>
  )
}

function Shown({ page: Page, nav, title = nav?.label, role: needed, parameters }: PageEntry & PageProps) {
  const { role, tenants, sample, time_zones: zones } = useSession()
  const { tenant } = parameters
  setZone(zones[tenant ?? ''] ?? UTC)
  const isSample = tenant !== undefined && tenant === sample
  const own = isSample ? 'viewer' : role
  useTitle(title, isSample ? TEXTS.words.states.sampleData : tenant)
  // Check here, because the page could not tell a refusal from an unreachable server.
  if (needed !== undefined && !isAtLeast(own, needed)) return <NotAllowed needed={needed} isSample={isSample} />
  if (tenant !== undefined && !tenants.includes(tenant) && !isSample) return <NoTenant id={tenant} />
  return (
    <RoleContext.Provider value={own}>
      {isSample && <SampleBanner />}
      <Page parameters={parameters} />
    </RoleContext.Provider>
  )
}
