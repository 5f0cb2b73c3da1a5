import type { ComponentType } from 'preact'
import type { PageProps } from './lib/page-props.ts'
import { Start } from './pages/start.tsx'
import { Uploads } from './pages/uploads.tsx'

/** A page and where it is. */
export interface PageEntry {
  readonly path: string
  readonly page: ComponentType<PageProps>
  /** In the navigation; undefined: it is reached from another page. */
  readonly label?: string
  /** Only operators see it. */
  readonly operator?: true
}

/** Every page, in the order of the navigation. Those of a tenant are under `/t/:tenant/`. A new one is a line here. */
export const PAGES: readonly PageEntry[] = [
  { path: '/', page: Start },
  { path: '/t/:tenant/uploads', page: Uploads, label: 'Uploads' },
]
