import { InvalidArgumentError } from 'commander'

/** Options of the command line. Undefined for the scenario's default. */
export interface Options {
  readonly scenarios: readonly string[]
  readonly json: boolean
  readonly runs: number
  readonly seconds?: number
  readonly connections?: number
  readonly against?: string
  readonly loader?: 'wrk' | 'own'
  readonly bounds: boolean
  /** Settings of the product. */
  readonly set: Readonly<Record<string, string>>
  readonly lines: number
  readonly stored: number
  readonly tenants: number
}

/** Parses a number of the command line. @throws InvalidArgumentError */
export function atLeastOne(text: string): number {
  const number = Number(text)
  if (!Number.isSafeInteger(number) || number < 1) throw new InvalidArgumentError('Must be an integer from 1.')
  return number
}
