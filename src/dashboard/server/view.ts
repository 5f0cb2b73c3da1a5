import type { CompanyView } from '../../../schemas/dashboard/companies.ts'
import { InputError } from '../../run/errors.ts'

const FIRST_DAY = '1900-01-01'
const LAST_DAY = '2299-12-31'

/** Checks dates of a view. @throws InputError when a date does not exist, or `from` is after `to` */
export function assertView({ from, to, new_since }: CompanyView): void {
  for (const [name, day] of Object.entries({ from, to, new_since })) {
    if (day !== undefined && !isMoment(day)) throw new InputError(`${name}: must be a date between 1900 and 2299`)
  }
  if (from !== undefined && to !== undefined && from > to) throw new InputError('from: must not be after to')
}

function isMoment(text: string): boolean {
  const ms = Date.parse(text)
  const day = text.slice(0, 10)
  // Date.parse reads February 30 as March 2.
  return Number.isFinite(ms) && new Date(ms).toISOString().startsWith(day) && day >= FIRST_DAY && day <= LAST_DAY
}
