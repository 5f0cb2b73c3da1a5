import { Route, Switch } from 'wouter-preact'
import type { SessionAnswer } from '../../../schemas/dashboard/session.ts'
import { Loading, Problem } from './components/notes.tsx'
import { Layout } from './layout.tsx'
import { useToken } from './lib/api.ts'
import type { PageProps } from './lib/page-props.ts'
import { SessionContext, useSession } from './lib/session.ts'
import { useTitle } from './lib/title.ts'
import { useData } from './lib/use-data.ts'
import { NoTenant, NotFound } from './pages/not-found.tsx'
import { SignIn } from './pages/sign-in.tsx'
import { PAGES, type PageEntry } from './pages.tsx'

/** All of it: who nobody knows is told how to sign in. */
export function App() {
  const session = useData<SessionAnswer>('/api/session')
  if (session.error?.status === 401) return <SignIn />
  if (session.value === undefined) {
    return session.error === undefined ? <Loading /> : <Problem error={session.error} onRetry={session.reload} />
  }
  useToken(session.value.csrf_token)
  return (
    <SessionContext.Provider value={{ ...session.value, reload: session.reload }}>
      <Layout>
        <Switch>
          {PAGES.map((entry) => (
            <Route key={entry.path} path={entry.path}>
              {(parameters: Readonly<Record<string, string>>) => <Shown {...entry} parameters={parameters} />}
            </Route>
          ))}
          <Route>
            <NotFound />
          </Route>
        </Switch>
      </Layout>
    </SessionContext.Provider>
  )
}

function Shown({ page: Page, title, label = title, parameters }: PageEntry & PageProps) {
  const { tenants } = useSession()
  const { tenant } = parameters
  useTitle(label, tenant)
  return tenant === undefined || tenants.includes(tenant) ? <Page parameters={parameters} /> : <NoTenant id={tenant} />
}
