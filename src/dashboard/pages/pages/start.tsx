import { Link, Redirect } from 'wouter-preact'
import { CodeLine } from '../components/code-line.tsx'
import { Empty } from '../components/notes.tsx'
import type { PageProps } from '../lib/page-props.ts'
import { useSession } from '../lib/session.ts'

/** Redirects to the first tenant's overview. Without a tenant, says how to create one. */
export function Start() {
  const { tenants } = useSession()
  if (tenants[0] !== undefined) return <TenantStart parameters={{ tenant: tenants[0] }} />
  return (
    <Empty title="There is no tenant yet">
      <p>
        Every event belongs to a tenant. <Link href="/tenants">Create the first</Link>, or type:
      </p>
      <CodeLine text="./ipid tenant create NAME" label="Command for a tenant" />
    </Empty>
  )
}

/** Redirects from `/t/:tenant` to the tenant's overview. */
export function TenantStart({ parameters: { tenant } }: PageProps) {
  return <Redirect to={`/t/${tenant}/overview`} replace />
}
