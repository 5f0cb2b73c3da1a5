import { InvalidArgumentError } from 'commander'

/** What the command line asks for. Undefined: what the scenario takes by itself. */
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

/** A number of the command line. @throws InvalidArgumentError */
export function atLeastOne(text: string): number {
  const number = Number(text)
  if (!Number.isSafeInteger(number) || number < 1) throw new InvalidArgumentError('It is a whole number from 1 on.')
  return number
}
