import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { InputError } from '../../../run/errors.ts'
import type { Facts } from '../../facts.ts'
import type { EnrichmentLimits } from '../../limits.ts'
import { loadMmdb } from '../../providers/mmdb/provider.ts'
import type { Shape } from '../../providers/mmdb/recognise.ts'
import type { Provider } from '../../providers/provider.ts'
import { readCompiled } from '../../providers/tables/compiled.ts'
import { OrganisationTable } from '../../providers/tables/organisation-table.ts'
import { linesOf } from '../../providers/text/text-file.ts'
import { TimeSlice } from '../../time-slice.ts'
import { ABOUT_FILE, type About, compiledFolder, NETWORKS_FILE, SYSTEMS_FILE } from './layout.ts'

/** The table waits for who compiles. What it held before serves on. */
export class NotCompiledError extends InputError {
  override name = 'NotCompiledError'
}

/**
 * Loads a big table as it was compiled.
 * @param dir where compiled tables are
 * @returns undefined when the file is to be read as it is
 * @throws NotCompiledError when it was not compiled yet, InputError with the reason when it cannot be
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
  const loadNetworks = (shape?: Shape) => loadWhole(join(folder, NETWORKS_FILE), name, limits, shape)
  if ('shape' in about) return await loadNetworks(about.shape)
  const { rows, unknownColumns } = about
  const networks = about.networks ? await loadNetworks() : undefined
  // The network of an answer is the piece of a row's that is left around it.
  const systems = await readSystems(join(folder, SYSTEMS_FILE))
  const recognisedAs = 'organisation table, compiled'
  return new OrganisationTable({ name, recognisedAs, records: rows, unknownColumns, networks, systems })
}

/** It was whole when it was written. @param shape how a vendor's records are read */
async function loadWhole(path: string, name: string, { recordsMax }: EnrichmentLimits, shape?: Shape) {
  try {
    return await loadMmdb({ name, bytes: await readFile(path), mapping: undefined, recordsMax, shape })
  } catch (error) {
    if (!(error instanceof InputError)) throw error
    throw new InputError(`${path} is damaged (${error.message}): remove its folder, and it is compiled anew`)
  }
}

/** Undefined when there is none, or a damaged one: it is written with all else in its folder, in one step. */
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
