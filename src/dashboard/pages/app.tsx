import { usePathname } from 'wouter-preact/use-browser-location'
import type { SessionAnswer } from '../../../schemas/dashboard/session.ts'
import { Loading, Problem } from './components/notes.tsx'
import { Layout } from './layout.tsx'
import { useToken } from './lib/api.ts'
import { pageAt } from './lib/page-at.ts'
import { SessionContext } from './lib/session.ts'
import { useData } from './lib/use-data.ts'
import { NotFound } from './pages/not-found.tsx'
import { SignIn } from './pages/sign-in.tsx'
import { PAGES } from './pages.tsx'

/** All of it: who nobody knows is told how to sign in. */
export function App() {
  const found = pageAt(PAGES, usePathname())
  const session = useData<SessionAnswer>('/api/session')
  if (session.error?.status === 401) return <SignIn />
  if (session.value === undefined) {
    return session.error === undefined ? <Loading /> : <Problem error={session.error} onRetry={session.reload} />
  }
  useToken(session.value.csrf_token)
  return (
    <SessionContext.Provider value={{ ...session.value, reload: session.reload }}>
      <Layout>
        {found === undefined ? <NotFound /> : <found.entry.page key={found.entry.path} parameters={found.parameters} />}
      </Layout>
    </SessionContext.Provider>
  )
}
