import { readFileSync } from 'node:fs'
import { parse } from 'csv-parse/sync'
import type { Classification } from '../../../schemas/classification.ts'
import { once } from './sections.ts'

export const asNumbers = once(readAsNumbers)

/** The classification of a well-known AS, from `data/as-numbers.csv`; undefined for all others. */
export function classifyAsNumber(asn: number): Classification | undefined {
  return asNumbers().get(asn)
}

/** Reads `data/as-numbers.csv`. */
export function readAsNumbers(): ReadonlyMap<number, Classification> {
  const text = readFileSync(new URL('./data/as-numbers.csv', import.meta.url), 'utf8')
  const rows = parse(text, { columns: true, comment: '#' }) as Record<string, string>[]
  return new Map(rows.map((row) => [Number(row.asn), row.classification as Classification]))
}
