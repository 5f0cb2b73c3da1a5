import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Link, useLocation } from 'wouter-preact'
import { changeHeaders } from './lib/api.ts'
import { useSession } from './lib/session.ts'
import { useArrival } from './lib/use-arrival.ts'
import { PAGES } from './pages.tsx'

/** The frame of a page: navigation and choice of tenant. */
export function Layout({ children }: { readonly children: ComponentChildren }) {
  const { role, tenants, version } = useSession()
  const [location, navigate] = useLocation()
  const [isOpen, setOpen] = useState(false)
  useArrival(location, 'content')
  const tenant = /^\/t\/([^/]+)/.exec(location)?.[1] ?? tenants[0]
  const entries = PAGES.filter(({ label, operator }) => label !== undefined && (!operator || role === 'operator'))
  const pathOf = (path: string) => path.replace(':tenant', tenant ?? '')
  const change = (next: string) =>
    navigate(location.startsWith('/t/') ? location.replace(/^\/t\/[^/]+/, `/t/${next}`) : `/t/${next}/overview`)
  return (
    <div class="layout">
      <a class="skip" href="#content">
        Skip to content
      </a>
      <header class="top">
        <button
          type="button"
          class="menu-button"
          aria-expanded={isOpen}
          aria-controls="navigation"
          onClick={() => setOpen(!isOpen)}
        >
          Menu
        </button>
        <Link href="/" class="brand">
          ipid
        </Link>
        {tenants.length > 0 && (
          <label class="tenant">
            <span class="hidden-label">Tenant</span>
            <select value={tenant} onChange={(event) => change(event.currentTarget.value)}>
              {tenants.map((id) => (
                <option key={id} value={id}>
                  {id}
                </option>
              ))}
            </select>
          </label>
        )}
        <button type="button" class="quiet" onClick={signOut}>
          Sign out
        </button>
      </header>
      <nav id="navigation" class={isOpen ? 'open' : ''} aria-label="Pages">
        <ul>
          {entries
            .filter(({ path }) => tenant !== undefined || !path.includes(':tenant'))
            .map(({ path, label, operator }) => (
              <li key={path} class={operator ? 'operator' : ''}>
                <Link
                  href={pathOf(path)}
                  aria-current={isWithin(location, pathOf(path)) ? 'page' : undefined}
                  onClick={() => setOpen(false)}
                >
                  {label}
                </Link>
              </li>
            ))}
        </ul>
        <p class="version">ipid {version}</p>
      </nav>
      <main id="content" tabIndex={-1}>
        {children}
      </main>
    </div>
  )
}

function isWithin(location: string, path: string): boolean {
  return location === path || location.startsWith(`${path}/`)
}

async function signOut(): Promise<void> {
  await fetch('/sign-out', { method: 'POST', headers: changeHeaders() }).catch(() => {})
  window.location.assign('/')
}
