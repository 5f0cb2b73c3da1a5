import { type Config, defaultDataDirOf, fetchedDirOf, sourcesDirOf } from '../../config/config.ts'
import type { CliContext } from '../../terminal/context.ts'
import { printJson, printLine, printTable } from '../../terminal/print.ts'
import { attributionOf } from '../files/attribution.ts'
import { providersOf } from '../files/folder.ts'
import { oldDataIn } from '../files/old-data.ts'
import { readFolder, readOptional } from '../files/read-folder.ts'
import { ageOf, hasSource, isTooOld } from '../files/renewal.ts'
import { RDNS_PROVIDER } from '../providers/rdns/provider.ts'
import { day } from './output.ts'

interface ListRequest {
  readonly config: Config
  readonly json: boolean
  readonly nowMs: number
}

/** `ipid db list`: prints the usable data sets, the default ones and reverse DNS, in order of trust. */
export async function listProviders({ config, json, nowMs }: ListRequest, { stdout }: CliContext): Promise<void> {
  const fetchedDir = fetchedDirOf(config)
  const folders = [
    ...(await readOptional(fetchedDir, { isOptional: true })),
    await readFolder(config.enrichDir),
    ...(await readOptional(defaultDataDirOf(config), { isDefault: true })),
  ]
  const sources = new Set(folders.flatMap(({ sourceNames }) => [...sourceNames]))
  const providers = [...providersOf(folders), RDNS_PROVIDER]
  if (json) {
    const list = providers.map((provider) => ({
      name: provider.name,
      kind: provider.kind,
      recognised_as: provider.recognisedAs,
      built_at: provider.builtAt?.toISOString() ?? null,
      age_days: ageOf(provider, nowMs) ?? null,
      too_old: isTooOld(provider, nowMs) && hasSource(provider.name, sources),
      records: provider.name === RDNS_PROVIDER.name ? null : provider.records,
      attribution: attributionOf(provider.name) ?? null,
    }))
    return printJson(stdout, list)
  }
  const rows = providers.map((provider) => [
    provider.name,
    provider.kind,
    provider.recognisedAs,
    day(provider.builtAt),
    ageOf(provider, nowMs),
    provider.name === RDNS_PROVIDER.name ? '' : String(provider.records),
  ])
  printTable(stdout, ['PROVIDER', 'KIND', 'RECOGNISED AS', 'BUILT', 'DAYS OLD', 'RECORDS'], rows)
  for (const provider of providers) {
    const attribution = attributionOf(provider.name)
    if (attribution !== undefined) {
      printLine(stdout, '')
      printLine(stdout, `${provider.name}: ${attribution}`)
    }
  }
  const dirs = { sourcesDir: sourcesDirOf(config), defaultsDir: defaultDataDirOf(config) }
  const { warning, advice } = await oldDataIn(dirs, nowMs)
  for (const text of [warning, advice]) {
    if (text === undefined) continue
    printLine(stdout, '')
    printLine(stdout, text)
  }
}
