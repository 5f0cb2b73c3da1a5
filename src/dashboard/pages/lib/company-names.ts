import { TEXTS } from '../texts/texts.ts'

const texts = TEXTS.lib.companyNames

interface Named {
  readonly name: string
}

/** "Siemens", "Siemens and Bosch", "Siemens, Bosch and 3 others" */
export function companyNames([first, second, ...others]: readonly Named[]): string {
  if (second === undefined) return first?.name ?? ''
  if (others.length === 0) return texts.two(first!.name, second.name)
  return texts.more(first!.name, second.name, others.length)
}
