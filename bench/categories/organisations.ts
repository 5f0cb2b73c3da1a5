import { readFileSync } from 'node:fs'
import { parse } from 'csv-parse/sync'
import { NOISE_CLASSES } from '../../schemas/classification.ts'

/** An organisation whose category is known. */
export interface Organisation {
  readonly names: readonly string[]
  /** Undefined for a provider that the rules take for an organisation: every category is wrong for it. */
  readonly category: string | undefined
  readonly industry: string | undefined
}

/** The labels of `test/support/labelled-categories.csv`: organisations, and providers that the rules take for one. */
interface Label {
  readonly asn: string
  readonly as_name: string
  readonly classification: string
  readonly category: string
  readonly held_out: string
  /** `word`: because a candidate is in its name; `derived`: at random from the names with a category; `sample`: at random. */
  readonly drawn: string
}

const STARTER = new URL('../../src/enrichment/files/starter/organisations.csv', import.meta.url)
const LABELS = new URL('../../test/support/labelled-categories.csv', import.meta.url)
const NOISE: ReadonlySet<string> = new Set([...NOISE_CLASSES, 'vpn', 'bot'])

/** The starter organisations and the labels, each organisation once. @param heldOut only the labels that measured nothing */
export function knownOrganisations(heldOut: boolean): Organisation[] {
  const rows = readCsv(STARTER)
  const inStarter = new Set(rows.map(({ asn }) => asn))
  const labelled = (readCsv(LABELS) as unknown as Label[])
    .filter((label) => (label.held_out === 'yes') === heldOut && !inStarter.has(label.asn))
    .map(organisationOf)
  return heldOut ? labelled : [...starterOrganisations(rows), ...labelled]
}

function starterOrganisations(rows: readonly Record<string, string>[]): Organisation[] {
  const organisations = new Map<string, Organisation & { readonly names: string[] }>()
  for (const row of rows) {
    const { domain, business_name, org_name, industry_category: category, industry, classification } = row
    if (NOISE.has(classification!) || !category) continue
    const key = domain || business_name!
    const known = organisations.get(key) ?? { names: [], category, industry: industry || undefined }
    const name = org_name || business_name!
    if (!known.names.includes(name)) known.names.push(name)
    organisations.set(key, known)
  }
  return [...organisations.values()]
}

function organisationOf({ as_name: name, classification, category }: Label): Organisation {
  return { names: [name], category: NOISE.has(classification) ? undefined : category, industry: undefined }
}

function readCsv(file: URL): Record<string, string>[] {
  return parse(readFileSync(file), { columns: true })
}
