import { setImmediate } from 'node:timers/promises'
import { InputError } from '../../../run/errors.ts'
import { type RangeEntry, RangeMap } from '../../addresses/range-map.ts'
import type { Facts } from '../../facts.ts'
import { type Provider, rangeLookup } from '../provider.ts'
import { lineError } from '../text/text-file.ts'
import { DomainsByName } from './domains-by-name.ts'
import { type OrganisationRow, organisationIn, type RowAttributes, readRow, rowFacts } from './organisation-row.ts'
import { OrganisationTable } from './organisation-table.ts'
import { OrganisationsByName } from './organisations-by-name.ts'
import { csvTableRows, ndjsonTableRows } from './table-rows.ts'

interface TableOptions {
  readonly name: string
  readonly format: 'csv' | 'ndjson'
  /** UTF-8, decompressed. */
  readonly text: Buffer
  readonly rowsMax: number
}

/**
 * Streams the validated rows of a table.
 * @param unknown receives unknown columns
 * @throws InputError with line and reason at the first invalid row
 */
export async function* tableRows(
  { format, text, rowsMax }: Omit<TableOptions, 'name'>,
  unknown: Set<string>,
): AsyncGenerator<OrganisationRow> {
  const read = format === 'csv' ? csvTableRows : ndjsonTableRows
  let rows = 0
  for await (const { line, row } of read(text, unknown)) {
    const checked = readRow(row)
    if (typeof checked === 'string') throw lineError(line, checked)
    if (rows++ === rowsMax) throw lineError(line, `more than ${rowsMax} rows`)
    yield checked
  }
  if (rows === 0) throw new InputError('the table has no rows')
}

const ROWS_AT_A_TIME = 5_000

/** Yields to other work. @throws InputError as `tableRows` */
export async function loadTable(options: TableOptions): Promise<Provider> {
  const rows: OrganisationRow[] = []
  const unknown = new Set<string>()
  const domains = new DomainsByName()
  for await (const row of tableRows(options, unknown)) {
    rows.push(row)
    domains.learn(row.attributes)
  }
  const known = new Map<string, Facts>()
  const entries: RangeEntry<Facts>[] = []
  const systems = new Map<number, Facts>()
  for (const [i, { network, attributes }] of rows.entries()) {
    if (i % ROWS_AT_A_TIME === 0) await setImmediate()
    const facts = sharedFacts(attributes, domains, known)
    if (network.version === 'as') systems.set(network.asn, facts)
    else entries.push({ range: network, value: facts })
  }
  return new OrganisationTable({
    name: options.name,
    recognisedAs: 'organisation table',
    records: rows.length,
    unknownColumns: [...unknown],
    networks: rangeLookup(await RangeMap.build(entries)),
    systems,
    organisations: new OrganisationsByName(rows, (attributes) => domains.complete(organisationIn(attributes))),
  })
}

/** Rows with the same content share one `Facts`. Rows about the same organisation share its domain. */
function sharedFacts(attributes: RowAttributes, domains: DomainsByName, known: Map<string, Facts>): Facts {
  const content = JSON.stringify(attributes)
  let facts = known.get(content)
  if (facts === undefined) {
    facts = rowFacts(attributes, domains.complete(organisationIn(attributes)))
    known.set(content, facts)
  }
  return facts
}
