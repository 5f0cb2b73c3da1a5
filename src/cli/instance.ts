import { readFileSync, rmSync } from 'node:fs'
import type { Config } from '../config/config.ts'
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
}

export function writeInstance(dir: DataDir, instance: Instance): void {
  writePrivateFile(dir.instanceFile, `${JSON.stringify(instance)}\n`)
}

/** What the file says, whether or not that instance runs. Undefined when there is none. */
export function readInstance(dir: DataDir): Instance | undefined {
  try {
    return JSON.parse(readFileSync(dir.instanceFile, 'utf8')) as Instance
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

async function runningInstance(config: Config): Promise<Instance> {
  const dir = dataDirAt(config.dataDir)
  const instance = (await isHeld(dir.lock)) ? readInstance(dir) : undefined
  if (instance !== undefined) return instance
  throw new StartupError(
    `no ipid is running on ${dir.path}: start one with "npm start", or set DATA_DIR, or REDIS_URL and CLICKHOUSE_URL`,
  )
}
