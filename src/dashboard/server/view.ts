import type { CompanyView } from '../../../schemas/dashboard/companies.ts'
import { InputError } from '../../run/errors.ts'

const FIRST_DAY = '1900-01-01'
const LAST_DAY = '2299-12-31'

/** What no schema can say of a view. @throws InputError for a date that does not exist, or a span that ends before it begins */
export function assertView({ from, to, new_since }: CompanyView): void {
  for (const [name, day] of Object.entries({ from, to, new_since })) {
    if (day !== undefined && !isMoment(day)) throw new InputError(`${name}: no such day between 1900 and 2299`)
  }
  if (from !== undefined && to !== undefined && from > to) throw new InputError('from: is behind to')
}

function isMoment(text: string): boolean {
  const ms = Date.parse(text)
  const day = text.slice(0, 10)
  // Date.parse takes February 30 for March 2.
  return Number.isFinite(ms) && new Date(ms).toISOString().startsWith(day) && day >= FIRST_DAY && day <= LAST_DAY
}
