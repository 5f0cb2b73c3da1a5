import { Flame, Share2, UsersRound } from 'lucide-preact'
import { MayChange } from '../components/may-change.tsx'
import { SampleSection } from '../components/sample-data.tsx'
import { LinkButton } from '../design/button.tsx'
import { Page, Section } from '../design/page.tsx'
import { useMay } from '../lib/may.ts'
import type { PageProps } from '../lib/page-props.ts'
import { CrmSection } from './crm.tsx'
import { IntentPages } from './settings/intent-pages.tsx'
import { Keys } from './settings/keys.tsx'
import { Plan } from './settings/plan.tsx'
import { Rules } from './settings/rules.tsx'

/** Plan, keys, rules and intent pages of a tenant, and the ways to its people and shared links. */
export function Settings({ parameters }: PageProps) {
  const tenant = parameters.tenant!
  const isAdmin = useMay('admin')
  return (
    // The key makes sure that state of one tenant is never shown for another.
    <Page key={tenant} title={`Settings of ${tenant}`}>
      <Plan tenant={tenant} />
      {isAdmin && <Keys tenant={tenant} />}
      <MayChange>
        <Rules tenant={tenant} />
        <IntentPages tenant={tenant} />
        <Section
          title="Shared links"
          description="Lists and companies that people without an account can read."
          actions={
            <LinkButton href={`/t/${tenant}/settings/shared-links`} icon={Share2}>
              Manage shared links
            </LinkButton>
          }
        />
      </MayChange>
      {isAdmin && (
        <Section
          title="Heat and fit"
          description="What makes a company hot, and which companies you want."
          actions={
            <LinkButton href={`/t/${tenant}/settings/heat-and-fit`} icon={Flame}>
              Set heat and fit
            </LinkButton>
          }
        />
      )}
      {isAdmin && (
        <Section
          title="People"
          description="Who may use this workspace, their sessions, and invitations."
          actions={
            <LinkButton href={`/t/${tenant}/settings/people`} icon={UsersRound}>
              Manage people
            </LinkButton>
          }
        />
      )}
      {isAdmin && <CrmSection tenant={tenant} />}
      {isAdmin && <SampleSection tenant={tenant} />}
    </Page>
  )
}
