import './tabs.css'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { Link } from 'wouter-preact'
import type { Option } from './field.tsx'

interface TabsProps {
  /** Name of the group, for screen readers. */
  readonly label: string
  readonly tabs: readonly { readonly href: string; readonly label: string; readonly isCurrent: boolean }[]
}

/** Links between views of one subject. Each view has its own URL. Where they do not fit, the current one is in view. */
export function Tabs({ label, tabs }: TabsProps) {
  const nav = useRef<HTMLElement>(null)
  const current = tabs.find(({ isCurrent }) => isCurrent)?.href
  useLayoutEffect(() => {
    const tab = nav.current?.querySelector<HTMLElement>('[aria-current=page]')
    if (tab) nav.current!.scrollLeft = tab.offsetLeft - nav.current!.offsetLeft - 40
  }, [current])
  return (
    <nav ref={nav} class="ui-tabs" aria-label={label}>
      {tabs.map((tab) => (
        <Link key={tab.href} href={tab.href} class="ui-tab" aria-current={tab.isCurrent ? 'page' : undefined}>
          {tab.label}
        </Link>
      ))}
    </nav>
  )
}

interface SegmentedProps {
  /** The subject of the choice, for screen readers. */
  readonly label: string
  readonly value: string
  /** Two to six short ones. */
  readonly options: readonly Option[]
  readonly onChange: (value: string) => void
}

/** Chooses one of a few values that are all visible. Arrow keys change it. */
export function Segmented({ label, value, options, onChange }: SegmentedProps) {
  const name = useId()
  return (
    <fieldset class="ui-segmented">
      <legend class="ui-hidden">{label}</legend>
      {options.map((option) => (
        <label key={option.value}>
          <input
            type="radio"
            name={name}
            value={option.value}
            checked={option.value === value}
            onChange={() => onChange(option.value)}
          />
          {option.label}
        </label>
      ))}
    </fieldset>
  )
}
