import './jump.css'
import { Building2, ListFilter, type LucideIcon, Settings } from 'lucide-preact'
import { useId, useLayoutEffect, useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import type { CompaniesPage } from '../../../../schemas/dashboard/companies.ts'
import { Dialog } from '../design/dialog.tsx'
import { TextInput } from '../design/field.tsx'
import { Icon } from '../design/icon.tsx'
import { companyPath } from '../lib/company-links.ts'
import { segmentPath } from '../lib/segment-view.ts'
import { useSegments } from '../lib/segments.ts'
import { useData } from '../lib/use-data.ts'
import { useRested } from '../lib/use-rested.ts'
import { useVisiblePages } from '../lib/visible-pages.ts'
import { TEXTS } from '../texts/texts.ts'

const texts = TEXTS.shell.jump

const COMPANIES_MAX = 6
const SEGMENTS_MAX = 5
const PAGES_MAX = 8
/** Typing asks for companies once it pauses. */
const PAUSE_MS = 150

/** Opens with Ctrl+K or ⌘K: a page, a segment or a company by its name. */
export function Jump({ tenant }: { readonly tenant: string | undefined }) {
  const [isOpen, setOpen] = useState(false)
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return
      // A dialog keeps what was typed into it.
      if (document.querySelector('dialog[open]') !== null) return
      event.preventDefault()
      setOpen(true)
    }
    const open = () => setOpen(true)
    document.addEventListener('keydown', press)
    document.addEventListener(OPEN, open)
    return () => {
      document.removeEventListener('keydown', press)
      document.removeEventListener(OPEN, open)
    }
  }, [])
  if (!isOpen) return null
  return (
    <Dialog title={texts.title} onClose={() => setOpen(false)}>
      <Search tenant={tenant} onDone={() => setOpen(false)} />
    </Dialog>
  )
}

const OPEN = 'ipid-jump'

/** Opens it by a button. */
export function openJump(): void {
  document.dispatchEvent(new Event(OPEN))
}

/** The keys that open it, as this system writes them. */
export const JUMP_KEYS = /Mac|iPhone|iPad/.test(globalThis.navigator?.platform ?? '') ? '⌘K' : texts.keys

interface Place {
  readonly key: string
  readonly icon: LucideIcon
  readonly label: string
  readonly note: string
  readonly href: string
}

function Search({ tenant, onDone }: { readonly tenant: string | undefined; readonly onDone: () => void }) {
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const [, navigate] = useLocation()
  const id = useId()
  const { places, isLoading } = usePlaces(tenant, text.trim())
  const current = Math.min(at, places.length - 1)
  const go = (place: Place | undefined) => {
    if (place === undefined) return
    onDone()
    navigate(place.href)
  }
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined && places.length > 0) setAt((current + step + places.length) % places.length)
    else if (event.key === 'Enter') go(places[current])
    else return
    event.preventDefault()
  }
  return (
    <div class="jump">
      <TextInput
        type="search"
        label={texts.search}
        isLabelHidden
        placeholder={texts.search}
        autocomplete="off"
        value={text}
        onInput={(next) => {
          setText(next)
          setAt(0)
        }}
        onKeyDown={press}
        role="combobox"
        aria-expanded={places.length > 0}
        aria-controls={id}
        aria-activedescendant={places.length > 0 ? `${id}-${current}` : undefined}
      />
      <div id={id} class="jump-places" role="listbox" aria-label={texts.places}>
        {places.map(({ key, icon, label, note, href }, i) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keys
          <div
            key={key}
            id={`${id}-${i}`}
            role="option"
            tabIndex={-1}
            aria-selected={i === current}
            onClick={() => go({ key, icon, label, note, href })}
            onPointerMove={() => setAt(i)}
          >
            <Icon of={icon} />
            <span>{label}</span>
            <span>{note}</span>
          </div>
        ))}
      </div>
      {places.length === 0 && <p role="status">{isLoading ? texts.searching : texts.nothing}</p>}
    </div>
  )
}

/** Pages first, because their names are short, then segments and companies. */
function usePlaces(tenant: string | undefined, text: string): { places: readonly Place[]; isLoading: boolean } {
  const { segments = [] } = useSegments()
  const asked = useRested(text, text, PAUSE_MS)
  const { value, isLoading } = useData<CompaniesPage>(
    tenant === undefined || asked === '' ? undefined : `/api/tenants/${tenant}/companies`,
    { search: asked, limit: COMPANIES_MAX },
  )
  const wanted = text.toLowerCase()
  const isFound = (name: string) => name.toLowerCase().includes(wanted)
  const pages = useVisiblePages(tenant)
    .filter(({ path, nav }) => nav !== undefined || path.includes('/settings/'))
    .map(({ path, nav, title = '' }) => ({
      ...{ key: path, icon: nav?.icon ?? Settings, label: nav?.label ?? title, note: texts.page },
      href: path.replace(':tenant', tenant ?? ''),
    }))
    .filter(({ label }) => isFound(label))
  if (tenant === undefined) return { places: pages, isLoading: false }
  const saved = segments
    .filter(({ name }) => isFound(name))
    .map((segment) => ({
      ...{ key: segment.segment_id, icon: ListFilter, label: segment.name, note: texts.segment },
      href: segmentPath(tenant, segment),
    }))
  // Companies of an earlier text are not shown.
  const rows = text === '' || asked !== text || isLoading ? [] : (value?.rows ?? [])
  const companies = rows.map(({ company_id, name, domain }) => ({
    ...{ key: `company ${company_id}`, icon: Building2, label: name, note: domain === name ? texts.company : domain },
    href: companyPath(tenant, company_id),
  }))
  return {
    places: [...pages.slice(0, PAGES_MAX), ...saved.slice(0, SEGMENTS_MAX), ...companies],
    isLoading: text !== '' && (asked !== text || isLoading),
  }
}
