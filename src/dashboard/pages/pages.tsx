import type { ComponentType } from 'preact'
import type { PageProps } from './lib/page-props.ts'
import { Accuracy } from './pages/accuracy.tsx'
import { Companies } from './pages/companies.tsx'
import { Company } from './pages/company.tsx'
import { DeadLetter } from './pages/dead-letter.tsx'
import { DeadLetters } from './pages/dead-letters.tsx'
import { Live } from './pages/live.tsx'
import { Lookup } from './pages/lookup.tsx'
import { Overview } from './pages/overview.tsx'
import { Settings } from './pages/settings.tsx'
import { Sources } from './pages/sources.tsx'
import { Start, TenantStart } from './pages/start.tsx'
import { System } from './pages/system.tsx'
import { Tenants } from './pages/tenants.tsx'
import { Uploads } from './pages/uploads.tsx'

export interface PageEntry {
  readonly path: string
  readonly page: ComponentType<PageProps>
  /** Label in the navigation; undefined: other pages link to it. */
  readonly label?: string
  /** Title of the browser's tab; undefined: the label. */
  readonly title?: string
  /** Only operators see it. */
  readonly operator?: true
}

/** All pages, in the order of the navigation. Pages of a tenant are under `/t/:tenant/`. Add a page here. */
export const PAGES: readonly PageEntry[] = [
  { path: '/', page: Start },
  { path: '/t/:tenant', page: TenantStart },
  { path: '/t/:tenant/overview', page: Overview, label: 'Overview' },
  { path: '/t/:tenant/companies', page: Companies, label: 'Companies' },
  { path: '/t/:tenant/companies/of', page: Company, title: 'Company' },
  { path: '/t/:tenant/accuracy', page: Accuracy, label: 'Accuracy' },
  { path: '/t/:tenant/live', page: Live, label: 'Live' },
  { path: '/t/:tenant/lookup', page: Lookup, label: 'Lookup' },
  { path: '/t/:tenant/sources', page: Sources, label: 'Sources' },
  { path: '/t/:tenant/uploads', page: Uploads, label: 'Uploads' },
  { path: '/t/:tenant/settings', page: Settings, label: 'Settings' },
  { path: '/system', page: System, label: 'System', operator: true },
  { path: '/system/dead-letters', page: DeadLetters, title: 'Dead letters', operator: true },
  { path: '/system/dead-letters/:id', page: DeadLetter, title: 'Dead letter', operator: true },
  { path: '/tenants', page: Tenants, label: 'Tenants', operator: true },
]
