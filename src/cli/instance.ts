import { readFileSync, rmSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Config } from '../config/config.ts'
import type { ArchivePlace } from '../core/pipeline/destination.ts'
import { StartupError } from '../core/run/errors.ts'
import { type DataDir, dataDirAt } from '../embedded/processes/data-dir.ts'
import { isHeld } from '../embedded/processes/socket-lock.mjs'
import { writePrivateFile } from './atomic-file.ts'

/** How a running instance is reached; DATA_DIR/run/instance.json. */
export interface Instance {
  /** The API; absent when the instance has no ingress. */
  readonly url?: string
  readonly clickhouse_url: string
  readonly redis_url: string
  readonly pid: number
  /** Where people reach the dashboard; absent when the instance has none. */
  readonly dashboard?: string
}

/** What the file holds besides: settings by which a command has to do as the instance does. */
interface InstanceFile extends Instance {
  readonly enrich_dir?: string
  /** As the setting is read. */
  readonly archive?: ArchivePlace
}

export function writeInstance(dir: DataDir, instance: Instance, { enrichDir, archiveUrl }: Config): void {
  const file: InstanceFile = {
    ...instance,
    ...(enrichDir !== undefined && { enrich_dir: resolve(enrichDir) }),
    ...(archiveUrl !== undefined && { archive: archiveUrl }),
  }
  writePrivateFile(dir.instanceFile, `${JSON.stringify(file)}\n`)
}

/** With data and archive of the running instance, where the settings of the command name none. */
export async function asInstance(config: Config): Promise<Config> {
  const dir = dataDirAt(config.dataDir)
  const isOurs = config.redisUrl === undefined && (await isHeld(dir.lock))
  const { enrich_dir: enrichDir, archive }: Partial<InstanceFile> = (isOurs && readInstance(dir)) || {}
  return { ...config, enrichDir: config.enrichDir ?? enrichDir, archiveUrl: config.archiveUrl ?? archive }
}

/** What the file says, whether or not that instance runs. Undefined when there is none. */
export function readInstance(dir: DataDir): InstanceFile | undefined {
  try {
    return JSON.parse(readFileSync(dir.instanceFile, 'utf8')) as InstanceFile
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || error instanceof SyntaxError) return undefined
    throw new StartupError(`cannot read ${dir.instanceFile}: ${(error as Error).message}`)
  }
}

export function removeInstance(dir: DataDir): void {
  rmSync(dir.instanceFile, { force: true })
}

/** Redis of the running instance, or of REDIS_URL. @throws StartupError when there is none */
export async function redisUrlOf(config: Config): Promise<string> {
  return config.redisUrl ?? (await runningInstance(config)).redis_url
}

/** ClickHouse of the running instance, or of CLICKHOUSE_URL. @throws StartupError when there is none */
export async function clickhouseUrlOf(config: Config): Promise<string> {
  if (config.clickhouseUrl !== undefined) return config.clickhouseUrl
  const { clickhouse_url: url } = await runningInstance(config)
  if (url === '') throw new StartupError('the running instance has no ClickHouse: set CLICKHOUSE_URL')
  return url
}

/** The API of the running instance. @throws StartupError when there is none */
export async function apiUrlOf(config: Config): Promise<string> {
  const { url } = await runningInstance(config)
  if (url === undefined) throw new StartupError('the running instance has no ingress: name one with --url')
  return url
}

/** Where people reach the dashboard of the running instance, or DASHBOARD_URL. @throws StartupError when there is none */
export async function dashboardUrlOf(config: Config): Promise<string> {
  if (config.dashboardUrl !== undefined) return config.dashboardUrl
  const { dashboard } = await runningInstance(config)
  if (dashboard === undefined) throw new StartupError('the running instance has no dashboard: set DASHBOARD_URL')
  return dashboard
}

async function runningInstance(config: Config): Promise<Instance> {
  const dir = dataDirAt(config.dataDir)
  const instance = (await isHeld(dir.lock)) ? readInstance(dir) : undefined
  if (instance !== undefined) return instance
  throw new StartupError(
    `no ipid is running on ${dir.path}: start one with "npm start", or set DATA_DIR, or REDIS_URL and CLICKHOUSE_URL`,
  )
}
