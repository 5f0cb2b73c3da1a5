import {
  Bell,
  Building2,
  FileText,
  FileUp,
  FolderDown,
  House,
  type LucideIcon,
  Plug,
  Radio,
  ScanSearch,
  Server,
  Settings,
  Target,
  UsersRound,
} from 'lucide-preact'
import type { ComponentType } from 'preact'
import type { DashboardRole } from '../../../schemas/dashboard/roles.ts'
import type { PageProps } from './lib/page-props.ts'
import { Accuracy } from './pages/accuracy.tsx'
import { DigestPage } from './pages/alerts/digest.tsx'
import { Messages } from './pages/alerts/messages.tsx'
import { NewAlert } from './pages/alerts/new-alert.tsx'
import { Alerts } from './pages/alerts.tsx'
import { Channels } from './pages/channels.tsx'
import { Companies } from './pages/companies.tsx'
import { Company } from './pages/company.tsx'
import { DeadLetter } from './pages/dead-letter.tsx'
import { DeadLetters } from './pages/dead-letters.tsx'
import { NewExport } from './pages/exports/new-export.tsx'
import { Exports } from './pages/exports.tsx'
import { Home } from './pages/home.tsx'
import { ImportCompanies } from './pages/import.tsx'
import { Live } from './pages/live.tsx'
import { Lookup } from './pages/lookup.tsx'
import { ReadPages } from './pages/read-pages.tsx'
import { Received } from './pages/received.tsx'
import { SegmentLink } from './pages/segment-link.tsx'
import { SETTINGS_TABS, settingsPage } from './pages/settings.tsx'
import { Sources } from './pages/sources.tsx'
import { OverviewMoved, Start, TenantStart } from './pages/start.tsx'
import { System } from './pages/system.tsx'
import { Tenants } from './pages/tenants.tsx'
import { UnknownNetworks } from './pages/unknown-networks.tsx'
import { Uploads } from './pages/uploads.tsx'
import { TEXTS } from './texts/texts.ts'

const texts = TEXTS.shell.pages

/** Groups of the navigation, in their order. */
export const NAV_GROUPS = [
  { name: 'companies', title: undefined },
  { name: 'data', title: texts.data },
  { name: 'setup', title: texts.setup },
  { name: 'operators', title: texts.operators },
] as const

export interface PageEntry {
  readonly path: string
  readonly page: ComponentType<PageProps>
  /** Its place in the navigation; undefined: other pages link to it. */
  readonly nav?: {
    readonly label: string
    readonly icon: LucideIcon
    readonly group: (typeof NAV_GROUPS)[number]['name']
  }
  /** Title of the browser's tab; undefined: the label. */
  readonly title?: string
  /** The least role that sees it. Default: `viewer`. */
  readonly role?: DashboardRole
}

/** All pages, in the order of the navigation. Pages of a tenant are under `/t/:tenant/`. Add a page here. */
export const PAGES: readonly PageEntry[] = [
  { path: '/', page: Start },
  { path: '/t/:tenant', page: TenantStart },
  {
    path: '/t/:tenant/home',
    page: Home,
    nav: { label: texts.home, icon: House, group: 'companies' },
  },
  { path: '/t/:tenant/home/received', page: Received, title: texts.received },
  { path: '/t/:tenant/overview', page: OverviewMoved, title: texts.home },
  {
    path: '/t/:tenant/companies',
    page: Companies,
    nav: { label: texts.companies, icon: Building2, group: 'companies' },
  },
  { path: '/t/:tenant/companies/import', page: ImportCompanies, title: texts.import },
  {
    path: '/t/:tenant/companies/of',
    page: Company,
    title: texts.company,
  },
  { path: '/t/:tenant/companies/segment', page: SegmentLink, title: texts.segment },
  { path: '/t/:tenant/companies/unknown', page: UnknownNetworks, title: texts.unknown },
  {
    path: '/t/:tenant/pages',
    page: ReadPages,
    nav: { label: texts.pages, icon: FileText, group: 'companies' },
  },
  { path: '/t/:tenant/pages/channels', page: Channels, title: texts.channels },
  {
    path: '/t/:tenant/alerts',
    page: Alerts,
    nav: { label: texts.alerts, icon: Bell, group: 'companies' },
  },
  { path: '/t/:tenant/alerts/new', page: NewAlert, title: texts.newAlert, role: 'member' },
  { path: '/t/:tenant/alerts/digest', page: DigestPage, title: texts.digest },
  { path: '/t/:tenant/alerts/messages', page: Messages, title: texts.messages },
  {
    path: '/t/:tenant/exports',
    page: Exports,
    nav: { label: texts.exports, icon: FolderDown, group: 'companies' },
  },
  { path: '/t/:tenant/exports/new', page: NewExport, title: texts.newExport, role: 'member' },
  {
    path: '/t/:tenant/live',
    page: Live,
    nav: { label: texts.live, icon: Radio, group: 'data' },
  },
  {
    path: '/t/:tenant/lookup',
    page: Lookup,
    nav: { label: texts.lookup, icon: ScanSearch, group: 'data' },
    role: 'member',
  },
  {
    path: '/t/:tenant/sources',
    page: Sources,
    nav: { label: texts.sources, icon: Plug, group: 'data' },
  },
  {
    path: '/t/:tenant/uploads',
    page: Uploads,
    nav: { label: texts.uploads, icon: FileUp, group: 'data' },
    role: 'member',
  },
  {
    path: '/t/:tenant/accuracy',
    page: Accuracy,
    nav: { label: texts.accuracy, icon: Target, group: 'data' },
  },
  ...SETTINGS_TABS.map(
    (tab): PageEntry => ({
      path: `/t/:tenant/settings${tab.path}`,
      page: settingsPage(tab),
      ...(tab.path === ''
        ? { nav: { label: texts.settings, icon: Settings, group: 'setup' } }
        : { title: texts.settingsTab(tab.label) }),
      ...(tab.role !== undefined && { role: tab.role }),
    }),
  ),
  {
    path: '/system',
    page: System,
    nav: { label: texts.system, icon: Server, group: 'operators' },
    role: 'operator',
  },
  {
    path: '/system/dead-letters',
    page: DeadLetters,
    title: texts.deadLetters,
    role: 'operator',
  },
  {
    path: '/system/dead-letters/:id',
    page: DeadLetter,
    title: texts.deadLetter,
    role: 'operator',
  },
  {
    path: '/tenants',
    page: Tenants,
    nav: { label: texts.tenants, icon: UsersRound, group: 'operators' },
    role: 'operator',
  },
]
