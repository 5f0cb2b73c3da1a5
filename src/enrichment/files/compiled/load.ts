import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { InputError } from '../../../run/errors.ts'
import type { Facts } from '../../facts.ts'
import type { EnrichmentLimits } from '../../limits.ts'
import { loadMmdb } from '../../providers/mmdb/provider.ts'
import type { Shape } from '../../providers/mmdb/recognise.ts'
import type { Provider } from '../../providers/provider.ts'
import { organisationsProvider, registryProvider } from '../../providers/registry/provider.ts'
import { readCompiled } from '../../providers/tables/compiled.ts'
import { OrganisationTable } from '../../providers/tables/organisation-table.ts'
import { linesOf } from '../../providers/text/text-file.ts'
import { TimeSlice } from '../../time-slice.ts'
import { ABOUT_FILE, type About, BLOCKS_FILE, compiledFolder, NETWORKS_FILE, SYSTEMS_FILE } from './layout.ts'

/** The table is not compiled yet. Its previous data stay in use. */
export class NotCompiledError extends InputError {
  override name = 'NotCompiledError'
}

/**
 * Loads the compiled form of a big table.
 * @param dir folder of compiled tables
 * @returns undefined when the file must be loaded directly
 * @throws NotCompiledError when it is not compiled yet, InputError with the reason when the table is invalid
 */
export async function loadCompiled(
  dir: string,
  path: string,
  name: string,
  limits: EnrichmentLimits,
): Promise<Provider | undefined> {
  const folder = await compiledFolder(dir, path)
  const about = folder === undefined ? undefined : await readAbout(folder)
  if (folder === undefined || about === undefined) throw new NotCompiledError('it is being compiled')
  if ('direct' in about) return undefined
  if ('reason' in about) throw new InputError(about.reason)
  if ('blocks' in about) return await loadBlocks(join(folder, BLOCKS_FILE), name, limits, about)
  const loadNetworks = (shape?: Shape) => loadWhole(join(folder, NETWORKS_FILE), name, limits, shape)
  if ('shape' in about) return await loadNetworks(about.shape)
  const { rows, unknownColumns } = about
  const networks = about.networks ? await loadNetworks() : undefined
  const systems = await readSystems(join(folder, SYSTEMS_FILE))
  const recognisedAs = 'organisation table, compiled'
  return new OrganisationTable({
    name,
    recognisedAs,
    records: rows,
    unknownColumns,
    networks,
    systems,
    organisations: undefined,
  })
}

async function loadBlocks(
  path: string,
  name: string,
  { recordsMax }: EnrichmentLimits,
  { blocks, objects, builtAtMs, warnings }: Extract<About, { blocks: boolean }>,
): Promise<Provider> {
  if (!blocks) return organisationsProvider(name, objects, builtAtMs === null ? undefined : new Date(builtAtMs))
  try {
    return registryProvider({ name, bytes: await readFile(path), recordsMax, warnings })
  } catch (error) {
    throw damaged(path, error)
  }
}

function damaged(path: string, error: unknown): unknown {
  if (!(error instanceof InputError)) return error
  return new InputError(`${path} is damaged (${error.message}): delete its folder to compile it again`)
}

/** @throws InputError when the file was damaged after compilation @param shape shape of a vendor's records */
async function loadWhole(path: string, name: string, { recordsMax }: EnrichmentLimits, shape?: Shape) {
  try {
    return await loadMmdb({ name, bytes: await readFile(path), mapping: undefined, recordsMax, shape })
  } catch (error) {
    throw damaged(path, error)
  }
}

/** Undefined when the file is missing or damaged, and with it the whole folder. */
export async function readAbout(folder: string): Promise<About | undefined> {
  try {
    return JSON.parse(await readFile(join(folder, ABOUT_FILE), 'utf8')) as About
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

const SYSTEMS_AT_A_TIME = 500

async function readSystems(path: string): Promise<Map<number, Facts>> {
  const slice = new TimeSlice()
  const systems = new Map<number, Facts>()
  for (const { line, text } of linesOf(await readFile(path), Number.POSITIVE_INFINITY)) {
    if (line % SYSTEMS_AT_A_TIME === 0 && slice.isOver) await slice.next()
    const { asn, record } = JSON.parse(text) as { asn: number; record: unknown }
    const facts = readCompiled(record)
    if (facts !== undefined) systems.set(asn, facts)
  }
  return systems
}
