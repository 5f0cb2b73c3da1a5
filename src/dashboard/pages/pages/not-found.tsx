import { Compass, Lock } from 'lucide-preact'
import type { DashboardRole } from '../../../../schemas/dashboard/roles.ts'
import { LinkButton } from '../design/button.tsx'
import { EmptyState } from '../design/notice.tsx'
import { Page } from '../design/page.tsx'
import { useTitle } from '../lib/title.ts'

const BACK = <LinkButton href="/">Back to the start</LinkButton>

/** Shown for an unknown path. */
export function NotFound() {
  useTitle('Page not found')
  return (
    <Page title="Page not found">
      <EmptyState icon={Compass} title="There is nothing at this address">
        <p>The link may be cut off, or the page has moved.</p>
        {BACK}
      </EmptyState>
    </Page>
  )
}

/** Shown when the tenant does not exist or the session may not see it. */
export function NoTenant({ id }: { readonly id: string }) {
  return (
    <Page title={`There is no workspace ${id}`}>
      <EmptyState icon={Compass} title="Nothing to show">
        <p>The workspace was deleted, or this session may not see it.</p>
        {BACK}
      </EmptyState>
    </Page>
  )
}

interface NotAllowedProps {
  readonly needed: DashboardRole
  readonly isSample: boolean
}

/** Shown on pages for roles that the user does not have. */
export function NotAllowed({ needed, isSample }: NotAllowedProps) {
  if (isSample) {
    return (
      <Page title="Not with sample data">
        <EmptyState icon={Lock} title="Nothing can be changed here">
          <p>Switch the sample data off to use this page.</p>
          {BACK}
        </EmptyState>
      </Page>
    )
  }
  if (needed !== 'operator') {
    return (
      <Page title={`This page is for ${needed}s`}>
        <EmptyState icon={Lock} title="Your role does not open it">
          <p>An admin of your workspace can give you another role.</p>
          {BACK}
        </EmptyState>
      </Page>
    )
  }
  return (
    <Page title="This page is for operators">
      <EmptyState icon={Lock} title="You are signed in to one workspace">
        <p>
          An operator opens this page with the link that <code>./ipid dashboard</code> prints on the machine where ipid
          runs.
        </p>
        {BACK}
      </EmptyState>
    </Page>
  )
}
