import { Building } from 'lucide-preact'
import { Redirect } from 'wouter-preact'
import { LinkButton } from '../design/button.tsx'
import { CodeLine } from '../design/code.tsx'
import { EmptyState } from '../design/notice.tsx'
import { Page } from '../design/page.tsx'
import type { PageProps } from '../lib/page-props.ts'
import { useSession } from '../lib/session.ts'

/** Redirects to the first tenant. Without a tenant, says how to create one. */
export function Start() {
  const { tenants } = useSession()
  if (tenants[0] !== undefined) return <TenantStart parameters={{ tenant: tenants[0] }} />
  return (
    <Page title="Welcome">
      <EmptyState icon={Building} title="There is no tenant yet">
        <p>Every event belongs to a tenant. Create the first here, or with a command.</p>
        <LinkButton variant="primary" href="/tenants">
          Create the first
        </LinkButton>
        <CodeLine text="./ipid tenant create NAME" label="Command for a tenant" />
      </EmptyState>
    </Page>
  )
}

/** Redirects from `/t/:tenant` to the tenant's home. */
export function TenantStart({ parameters: { tenant } }: PageProps) {
  return <Redirect to={`/t/${tenant}/home`} replace />
}

/** Redirects from the former name of Home, which links still have. */
export const OverviewMoved = TenantStart
