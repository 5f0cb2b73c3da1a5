import { Compass, Lock } from 'lucide-preact'
import type { DashboardRole } from '../../../../schemas/dashboard/roles.ts'
import { LinkButton } from '../design/button.tsx'
import { EmptyState } from '../design/notice.tsx'
import { Page } from '../design/page.tsx'
import { useTitle } from '../lib/title.ts'
import { TEXTS } from '../texts/texts.ts'

const texts = TEXTS.notFound.page

const BACK = <LinkButton href="/">{texts.back}</LinkButton>

/** Shown for an unknown path. */
export function NotFound() {
  useTitle(texts.title)
  return (
    <Page title={texts.title}>
      <EmptyState icon={Compass} title={texts.nothing}>
        <p>{texts.cutOff}</p>
        {BACK}
      </EmptyState>
    </Page>
  )
}

/** Shown when the tenant does not exist or the session may not see it. */
export function NoTenant({ id }: { readonly id: string }) {
  return (
    <Page title={texts.noWorkspace(id)}>
      <EmptyState icon={Compass} title={texts.nothingToShow}>
        <p>{texts.deleted}</p>
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
      <Page title={texts.notWithSample}>
        <EmptyState icon={Lock} title={texts.noChange}>
          <p>{texts.switchOff}</p>
          {BACK}
        </EmptyState>
      </Page>
    )
  }
  if (needed !== 'operator') {
    return (
      <Page title={texts.forRole[needed]}>
        <EmptyState icon={Lock} title={texts.yourRole}>
          <p>{texts.adminCan}</p>
          {BACK}
        </EmptyState>
      </Page>
    )
  }
  return (
    <Page title={texts.forOperators}>
      <EmptyState icon={Lock} title={texts.oneWorkspace}>
        <p>{texts.operatorOpens(<code>./ipid dashboard</code>)}</p>
        {BACK}
      </EmptyState>
    </Page>
  )
}
