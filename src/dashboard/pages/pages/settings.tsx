import type { ComponentType } from 'preact'
import { useContext } from 'preact/hooks'
import { type DashboardRole, isAtLeast } from '../../../../schemas/dashboard/roles.ts'
import { MayChange } from '../components/may-change.tsx'
import { SampleSection } from '../components/sample-data.tsx'
import { Page } from '../design/page.tsx'
import { Tabs } from '../design/tabs.tsx'
import { RoleContext, useMay } from '../lib/may.ts'
import type { PageProps } from '../lib/page-props.ts'
import { TEXTS } from '../texts/texts.ts'
import { Crm } from './crm.tsx'
import { HeatAndFit } from './heat-and-fit.tsx'
import { People } from './people.tsx'
import { IntentPages } from './settings/intent-pages.tsx'
import { Keys } from './settings/keys.tsx'
import { Plan } from './settings/plan.tsx'
import { Rules } from './settings/rules.tsx'
import { TimeZone } from './settings/time-zone.tsx'
import { SharedLinks } from './shared-links.tsx'

const texts = TEXTS.settings.tabs

interface SettingsTab {
  /** After `/t/:tenant/settings`. */
  readonly path: string
  readonly label: string
  /** Its sections. People who may not change them see their controls disabled. */
  readonly shows: ComponentType<{ readonly tenant: string }>
  /** The least role that sees it. Default: `viewer`. */
  readonly role?: DashboardRole
}

/** The tabs of Settings, in their order. Add a tab here: it becomes a page. */
export const SETTINGS_TABS: readonly SettingsTab[] = [
  { path: '', label: texts.general, shows: General },
  { path: '/people', label: texts.people, shows: People, role: 'admin' },
  { path: '/rules', label: texts.rules, shows: Rules },
  { path: '/heat-and-fit', label: texts.heatAndFit, shows: HeatAndFit, role: 'admin' },
  { path: '/intent', label: texts.intentPages, shows: IntentPages },
  { path: '/crm', label: texts.hubSpot, shows: Crm, role: 'admin' },
  { path: '/keys', label: texts.keys, shows: Keys, role: 'admin' },
  { path: '/shared-links', label: texts.sharedLinks, shows: SharedLinks },
]

/** The page of a tab. */
export function settingsPage({ path: current, shows: Sections }: SettingsTab): ComponentType<PageProps> {
  return function Settings({ parameters }) {
    const tenant = parameters.tenant!
    const role = useContext(RoleContext)
    return (
      // The key makes sure that state of one tenant is never shown for another.
      <Page key={tenant} title={texts.title}>
        <Tabs
          label={texts.title}
          tabs={SETTINGS_TABS.filter(({ role: needed = 'viewer' }) => isAtLeast(role, needed)).map(
            ({ path, label }) => ({
              href: `/t/${tenant}/settings${path}`,
              label,
              isCurrent: path === current,
            }),
          )}
        />
        <MayChange>
          <Sections tenant={tenant} />
        </MayChange>
      </Page>
    )
  }
}

function General({ tenant }: { readonly tenant: string }) {
  const isAdmin = useMay('admin')
  return (
    <>
      <TimeZone tenant={tenant} />
      <Plan tenant={tenant} />
      {isAdmin && <SampleSection tenant={tenant} />}
    </>
  )
}
