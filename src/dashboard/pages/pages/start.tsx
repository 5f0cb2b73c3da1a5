import { Link, Redirect } from 'wouter-preact'
import { CodeLine } from '../components/code-line.tsx'
import { Empty } from '../components/notes.tsx'
import { useSession } from '../lib/session.ts'

/** The first page that there is something to see on. */
export function Start() {
  const { tenants } = useSession()
  if (tenants[0] !== undefined) return <Redirect to={`/t/${tenants[0]}/overview`} replace />
  return (
    <Empty title="There is no tenant yet">
      <p>
        Every event belongs to a tenant. <Link href="/tenants">Create the first</Link>, or type:
      </p>
      <CodeLine text="./ipid tenant create NAME" label="Command for a tenant" />
    </Empty>
  )
}
