import { Compass, Lock } from 'lucide-preact'
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
    <Page title={`There is no tenant ${id}`}>
      <EmptyState icon={Compass} title="Nothing to show">
        <p>The tenant was deleted, or this session may not see it.</p>
        {BACK}
      </EmptyState>
    </Page>
  )
}

/** Shown to members on pages for operators. */
export function OnlyOperators() {
  return (
    <Page title="This page is for operators">
      <EmptyState icon={Lock} title="You are signed in as a member of one tenant">
        <p>
          An operator opens this page with the link that <code>./ipid dashboard</code> prints on the machine where ipid
          runs.
        </p>
        {BACK}
      </EmptyState>
    </Page>
  )
}
