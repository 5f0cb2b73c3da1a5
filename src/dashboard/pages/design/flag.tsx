import './flag.css'
import { useEffect, useState } from 'preact/hooks'
import { country } from '../lib/days.ts'
import { TEXTS } from '../texts/texts.ts'

const texts = TEXTS.design.flag

type Flags = Readonly<Record<string, string>>

let flags: Flags | undefined
let loading: Promise<Flags> | undefined

/** All flags in one file of ours, loaded when the first flag is drawn: Windows has no flags among its emoji. */
function loadFlags(): Promise<Flags> {
  loading ??= import('country-flag-icons/string/3x2').then((all) => {
    flags = all as unknown as Flags
    return flags
  })
  return loading
}

interface FlagProps {
  /** ISO 3166-1 alpha-2. */
  readonly code: string
  /** Shows the country's name on hover, where it is not beside the flag. */
  readonly isAlone?: boolean
}

/** The flag of a country, and its code while the flag loads or when there is none. */
export function Flag({ code, isAlone }: FlagProps) {
  const title = isAlone ? country(code) : undefined
  const [known, setKnown] = useState(flags)
  useEffect(() => {
    if (known === undefined) loadFlags().then(setKnown, () => {})
  }, [])
  const drawing = /^[A-Z]{2}$/.test(code) ? known?.[code] : undefined
  return drawing === undefined ? (
    <span class="ui-flag" title={title} aria-hidden="true">
      {code.slice(0, 2)}
    </span>
  ) : (
    <img
      class="ui-flag"
      src={`data:image/svg+xml,${encodeURIComponent(drawing)}`}
      alt={title ?? ''}
      title={title}
      width={20}
      height={14}
    />
  )
}

/** A country: flag and name. An empty code is unknown. */
export function Country({ code }: Pick<FlagProps, 'code'>) {
  if (code === '') return <>{texts.unknown}</>
  return (
    <span class="ui-country">
      <Flag code={code} />
      <span class="ui-text is-cut">{country(code)}</span>
    </span>
  )
}
