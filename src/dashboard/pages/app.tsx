import { usePathname } from 'wouter-preact/use-browser-location'
import type { SessionAnswer } from '../../../schemas/dashboard/session.ts'
import { Loading, Problem } from './components/notes.tsx'
import { Layout } from './layout.tsx'
import { setCsrfToken } from './lib/api.ts'
import { pageAt } from './lib/page-at.ts'
import type { PageProps } from './lib/page-props.ts'
import { SessionContext, useSession } from './lib/session.ts'
import { useTitle } from './lib/title.ts'
import { useData } from './lib/use-data.ts'
import { NoTenant, NotFound, OnlyOperators } from './pages/not-found.tsx'
import { SignIn } from './pages/sign-in.tsx'
import { PAGES, type PageEntry } from './pages.tsx'

/** The whole dashboard. Without a session, explains how to sign in. */
export function App() {
  const found = pageAt(PAGES, usePathname())
  const session = useData<SessionAnswer>('/api/session')
  if (session.error?.status === 401) return <SignIn />
  if (session.value === undefined) {
    return session.error === undefined ? <Loading /> : <Problem error={session.error} onRetry={session.reload} />
  }
  setCsrfToken(session.value.csrf_token)
  return (
    <SessionContext.Provider value={{ ...session.value, reload: session.reload }}>
      <Layout>
        {found === undefined ? (
          <NotFound />
        ) : (
          <Shown key={found.entry.path} {...found.entry} parameters={found.parameters} />
        )}
      </Layout>
    </SessionContext.Provider>
  )
}

function Shown({ page: Page, title, label = title, operator, parameters }: PageEntry & PageProps) {
  const { role, tenants } = useSession()
  const { tenant } = parameters
  useTitle(label, tenant)
  // Check here, because the page could not tell a refusal from an unreachable server.
  if (operator && role !== 'operator') return <OnlyOperators />
  return tenant === undefined || tenants.includes(tenant) ? <Page parameters={parameters} /> : <NoTenant id={tenant} />
}
