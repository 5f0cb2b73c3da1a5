import { RDNS_PROVIDER } from '../../enrichment/providers/rdns/provider.ts'
import type { CliContext } from '../context.ts'
import { printJson, printTable } from '../print.ts'
import { day, readFolder } from './folder.ts'

/** Prints the providers in order of trust: the data sets of the folder that can be read, and reverse DNS. */
export async function listProviders(dir: string | undefined, json: boolean, { stdout }: CliContext): Promise<void> {
  const folder = await readFolder(dir)
  const providers = [...folder.providers, RDNS_PROVIDER]
  if (json) {
    const list = providers.map(({ name, kind, recognisedAs, builtAt, records }) => ({
      name,
      kind,
      recognised_as: recognisedAs,
      built_at: builtAt?.toISOString() ?? null,
      records: name === RDNS_PROVIDER.name ? null : records,
    }))
    return printJson(stdout, list)
  }
  const rows = providers.map(({ name, kind, recognisedAs, builtAt, records }) => [
    name,
    kind,
    recognisedAs,
    day(builtAt),
    name === RDNS_PROVIDER.name ? '' : String(records),
  ])
  printTable(stdout, ['PROVIDER', 'KIND', 'RECOGNISED AS', 'BUILT', 'RECORDS'], rows)
}
