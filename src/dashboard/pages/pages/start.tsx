import { Building } from 'lucide-preact'
import { Redirect } from 'wouter-preact'
import { LinkButton } from '../design/button.tsx'
import { CodeLine } from '../design/code.tsx'
import { EmptyState } from '../design/notice.tsx'
import { Page } from '../design/page.tsx'
import type { PageProps } from '../lib/page-props.ts'
import { useSession } from '../lib/session.ts'
import { TEXTS } from '../texts/texts.ts'

const texts = TEXTS.start.page

/** Redirects to the first tenant. Without a tenant, says how to create one. */
export function Start() {
  const { tenants } = useSession()
  if (tenants[0] !== undefined) return <TenantStart parameters={{ tenant: tenants[0] }} />
  return (
    <Page title={texts.title}>
      <EmptyState icon={Building} title={texts.none}>
        <p>{texts.about}</p>
        <LinkButton variant="primary" href="/tenants">
          {texts.create}
        </LinkButton>
        <CodeLine text="./ipid tenant create NAME" label={texts.command} />
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
