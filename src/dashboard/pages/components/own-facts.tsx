import type { OwnColumn, OwnValues } from '../../../../schemas/facts.ts'
import { Facts } from '../design/details.tsx'
import { ownText } from '../lib/own-columns.ts'

/** The values of a company in the tenant's own columns. */
export function OwnFacts({ columns, values }: { readonly columns: readonly OwnColumn[]; readonly values: OwnValues }) {
  const shown = columns.filter(({ key }) => (values[key] ?? '') !== '')
  if (shown.length === 0) return null
  return <Facts facts={shown.map((column) => [column.name, ownText(column, values[column.key]!)])} />
}
