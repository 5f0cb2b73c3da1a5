import type { LookupOptions } from '../../lookup/lookup.ts'
import type { Provider } from '../providers/provider.ts'

/** The providers that a lookup may use, by name. Unknown names have no effect. */
export type LookupChoice = Pick<LookupOptions, 'allow' | 'deny'>

/** The chosen providers. */
export interface Chosen {
  /** Cache key: equal for equal sets of providers, `''` for all of them. */
  readonly key: string
  /** In order of trust. */
  readonly providers: readonly Provider[]
}

/** Whether a lookup may use a provider. */
export function isChosen({ allow, deny }: LookupChoice, name: string): boolean {
  return (allow === undefined || allow.includes(name)) && !deny?.includes(name)
}

/** @param all in order of trust */
export function chosenOf(choice: LookupChoice, all: Chosen): Chosen {
  if (choice.allow === undefined && (choice.deny === undefined || choice.deny.length === 0)) return all
  let key = ''
  const providers = all.providers.filter(({ name }, i) => {
    const chosen = isChosen(choice, name)
    if (chosen) key += `${i} `
    return chosen
  })
  return providers.length === all.providers.length ? all : { key: `${key}|`, providers }
}
