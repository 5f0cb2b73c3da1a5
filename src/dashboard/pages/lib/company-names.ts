import { counted } from './format.ts'

interface Named {
  readonly name: string
}

/** "Siemens", "Siemens and Bosch", "Siemens, Bosch and 3 others" */
export function companyNames([first, second, ...others]: readonly Named[]): string {
  if (second === undefined) return first?.name ?? ''
  if (others.length === 0) return `${first!.name} and ${second.name}`
  return `${first!.name}, ${second.name} and ${counted(others.length, 'other')}`
}
