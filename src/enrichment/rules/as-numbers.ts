import { readFileSync } from 'node:fs'
import { parse } from 'csv-parse/sync'
import type { Classification } from '../../../schemas/classification.ts'

let table: ReadonlyMap<number, Classification> | undefined

/**
 * The classification of a well-known AS, from `as-numbers.csv`; undefined for all others. The file is read at the first
 * question. Throws when it is missing or does not parse, which only a broken installation can cause.
 */
export function classifyAsNumber(asn: number): Classification | undefined {
  table ??= readAsNumbers()
  return table.get(asn)
}

/** All of `as-numbers.csv`. */
export function readAsNumbers(): ReadonlyMap<number, Classification> {
  const text = readFileSync(new URL('./as-numbers.csv', import.meta.url), 'utf8')
  const rows = parse(text, { columns: true, comment: '#' }) as Record<string, string>[]
  return new Map(rows.map((row) => [Number(row.asn), row.classification as Classification]))
}
