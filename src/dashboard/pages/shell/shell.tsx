import './shell.css'
import { Menu } from 'lucide-preact'
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Link, useLocation } from 'wouter-preact'
import type { HeatLevels } from '../../../../schemas/companies.ts'
import type { SegmentsAnswer } from '../../../../schemas/dashboard/segments.ts'
import { IconButton } from '../design/button.tsx'
import { Toasts } from '../design/toast.tsx'
import { HeatLevelsContext } from '../lib/heat.ts'
import { rememberWorkspace } from '../lib/sample.ts'
import { SegmentsContext } from '../lib/segments.ts'
import { useSession } from '../lib/session.ts'
import { useArrival } from '../lib/use-arrival.ts'
import { useData } from '../lib/use-data.ts'
import { TEXTS } from '../texts/texts.ts'
import { Jump } from './jump.tsx'
import { Logo } from './logo.tsx'
import { Sidebar } from './sidebar.tsx'

const texts = TEXTS.shell.shell

/** Wider screens have the sidebar always: the width in `shell.css`. */
const WIDE = '(min-width: 901px)'
/** Other people change segments too. */
const SEGMENTS_EVERY_MS = 60_000
const HEAT_LEVELS_EVERY_MS = 600_000

/** The frame of a page: sidebar, or a bar and a drawer on a small screen. */
export function Shell({ children }: { readonly children: ComponentChildren }) {
  const { tenants, sample } = useSession()
  const [location] = useLocation()
  const drawer = useDrawer()
  useArrival(location, 'content')
  const tenant = /^\/t\/([^/]+)/.exec(location)?.[1] ?? tenants[0]
  useLayoutEffect(() => {
    if (tenant !== undefined && tenant !== sample) rememberWorkspace(tenant)
  }, [tenant, sample])
  const isKnown = tenant !== undefined && (tenants.includes(tenant) || tenant === sample)
  const { value, isLoading, reload } = useData<SegmentsAnswer>(
    isKnown ? `/api/tenants/${tenant}/segments` : undefined,
    {},
    SEGMENTS_EVERY_MS,
  )
  const heat = useData<HeatLevels>(isKnown ? `/api/tenants/${tenant}/heat-levels` : undefined, {}, HEAT_LEVELS_EVERY_MS)
  // While another tenant's are loading, the former ones are not shown.
  const segments = isLoading ? undefined : value?.segments
  return (
    <SegmentsContext.Provider value={{ segments, reload }}>
      <HeatLevelsContext.Provider value={{ levels: heat.isLoading ? undefined : heat.value, reload: heat.reload }}>
        <div class="ui-shell">
          <a class="ui-skip" href="#content">
            {texts.skip}
          </a>
          <header class="ui-topbar" inert={drawer.isOpen}>
            <IconButton
              icon={Menu}
              label={texts.menu}
              buttonRef={drawer.button}
              aria-expanded={drawer.isOpen}
              aria-controls="sidebar"
              onClick={drawer.open}
            />
            <Link href="/" class="ui-brand">
              <Logo />
              ipid
            </Link>
            <span class="ui-topbar-tenant">{tenant === sample ? TEXTS.words.states.sampleData : tenant}</span>
          </header>
          {/* biome-ignore lint/a11y/noStaticElementInteractions: Escape and the close button do the same */}
          {/* biome-ignore lint/a11y/useKeyWithClickEvents: Escape and the close button do the same */}
          <div class={drawer.isOpen ? 'ui-backdrop is-open' : 'ui-backdrop'} onClick={drawer.close} />
          <Sidebar tenant={tenant} isOpen={drawer.isOpen} onClose={drawer.close} />
          <main id="content" class="ui-main" tabIndex={-1} inert={drawer.isOpen}>
            {children}
          </main>
          <Jump tenant={tenant} />
          <Toasts />
        </div>
      </HeatLevelsContext.Provider>
    </SegmentsContext.Provider>
  )
}

/** The sidebar as a drawer. It takes the focus, Escape closes it, and the focus returns to its button. */
function useDrawer() {
  const [isOpen, setOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  useLayoutEffect(() => {
    if (!isOpen) return
    document.querySelector<HTMLElement>('#sidebar nav a[aria-current], #sidebar nav a')?.focus()
    const wide = window.matchMedia(WIDE)
    const closeOnEscape = (event: KeyboardEvent) => event.key === 'Escape' && setOpen(false)
    const close = () => setOpen(false)
    document.addEventListener('keydown', closeOnEscape)
    wide.addEventListener('change', close)
    return () => {
      document.removeEventListener('keydown', closeOnEscape)
      wide.removeEventListener('change', close)
      // A link that was clicked moves the focus to the page itself. The browser may have left the hidden drawer already.
      const { activeElement } = document
      if (activeElement === document.body || activeElement?.closest('#sidebar')) button.current?.focus()
    }
  }, [isOpen])
  return { isOpen, button, open: () => setOpen(true), close: () => setOpen(false) }
}
