import { createHash } from 'node:crypto'
import { readdirSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Classification } from '../../../schemas/classification.ts'
import { businessName } from './business-name.ts'
import { categoryOfName, type NameCategory, stateCategory } from './category.ts'
import { classify, type Decision } from './classify.ts'
import { nameKey } from './company-id.ts'
import type { Evidence } from './evidence.ts'
import { isPersonName } from './person.ts'
import { once } from './sections.ts'

/**
 * What the rules say about an autonomous system: 80 µs of CPU each time. It depends on the record and the rules only, so data
 * that are compiled can hold it.
 */
export interface Decided {
  readonly name: string
  /** The result of `classify` for the evidence of the record alone. */
  readonly decision: Decision
  readonly businessName: string
  readonly key: string
  readonly isPerson: boolean
  readonly category: NameCategory | undefined
}

/** @param evidence of one record; @returns undefined without the name of an AS */
export function decide(evidence: Readonly<Evidence>): Decided | undefined {
  const { asName: name } = evidence
  if (name === undefined) return undefined
  return {
    name,
    decision: classify(evidence),
    businessName: businessName(name),
    key: nameKey(name),
    isPerson: isPersonName(name),
    category: categoryOfName(name),
  }
}

/** Lets the functions of the rules answer for a name without computing. */
export function learn({ name, businessName: readable, key, isPerson, category }: Decided): void {
  businessName.learn(name, readable)
  nameKey.learn(name, key)
  isPersonName.learn(name, isPerson)
  stateCategory.learn(name, { category })
}

/** Members of a record that hold a `Decided`. */
export const DECIDED_MEMBERS = ['rule', 'class', 'readable', 'key', 'person', 'category'] as const
type Value = string | number | boolean | null

/**
 * A `Decided` as values of `DECIDED_MEMBERS`; null where the others tell it, and a length for the start of the name. Every process
 * reads them at its start and keeps them in memory.
 */
export function storeDecided({ name, decision, businessName, key, isPerson, category }: Decided): Value[] {
  return [
    decision.rule,
    decision.classification ?? null,
    businessName === name ? null : name.startsWith(businessName) ? businessName.length : businessName,
    key === plainKey(businessName) ? null : key,
    isPerson ? true : null,
    category === undefined ? null : JSON.stringify(category),
  ]
}

/** The reverse of `storeDecided`. */
export function readDecided(name: string, values: readonly Value[]): Decided {
  const [rule, classification, readable, key, isPerson, category] = values
  const businessName =
    typeof readable === 'number' ? name.slice(0, readable) : ((readable as string | null | undefined) ?? name)
  return {
    name,
    decision: { classification: (classification as Classification | null) ?? undefined, rule: rule as string },
    businessName,
    key: (key as string | null) ?? plainKey(businessName),
    isPerson: isPerson === true,
    category: typeof category === 'string' ? categoryIn(category) : undefined,
  }
}

function categoryIn(json: string): NameCategory {
  const { category, industry } = JSON.parse(json) as NameCategory
  return { category, industry }
}

function plainKey(readable: string): string {
  return readable.toLowerCase().replaceAll(' ', '-')
}

const FOLDER = new URL('./', import.meta.url)

/**
 * A digest of all that results of the rules depend on: the files with their code and data, by size and time of change, because every
 * start needs it; the list of domain suffixes, and the tables of Unicode. Results with another digest are not used.
 */
export const rulesDigest = once(() => {
  const digest = createHash('sha256').update(`${process.versions.unicode} ${suffixesVersion()}`)
  for (const file of readdirSync(FOLDER, { recursive: true }).map(String).sort()) {
    const { size, mtimeMs } = statSync(new URL(file, FOLDER))
    digest.update(`\n${file} ${size} ${mtimeMs}`)
  }
  return { text: digest.digest('hex') }
})

function suffixesVersion(): string {
  return (createRequire(import.meta.url)('tldts/package.json') as { version: string }).version
}
