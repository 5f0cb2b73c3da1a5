import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import type { ClickHouseClient } from '@clickhouse/client'
import { pino } from 'pino'
import { type Passwords, randomPasswords } from '../../src/embedded/clickhouse/passwords.ts'
import {
  type EmbeddedClickHouse,
  type EmbeddedClickHouseOptions,
  startEmbeddedClickHouse,
} from '../../src/embedded/clickhouse/start.ts'
import { connectClickHouse, DATABASE } from '../../src/stores/clickhouse/client.ts'
import { migrate } from '../../src/stores/clickhouse/migrate.ts'
import { atProcessEnd } from './end.mjs'
import { copySchema } from './made-data.ts'
import { takePort } from './ports.ts'
import { isAlive } from './processes.ts'

/** A separate embedded ClickHouse with the schema in it. */
export interface TestClickHouse {
  /** For ipid's own processes. */
  readonly url: string
  /** For people and their tools. */
  readonly analystUrl: string
  readonly pid: number
  readonly walled: boolean
  /** Uses the database `ipid`. */
  readonly client: ClickHouseClient
  /** Rows of a SELECT, as objects; 64-bit numbers are numbers. */
  rows<T = Record<string, unknown>>(query: string): Promise<T[]>
  /** `kill -9`; resolves when the process is gone. */
  kill(): Promise<void>
  /** Resolves when the process is gone. */
  ended(): Promise<string>
  /** Starts it again on the same folder and port. */
  restart(): Promise<void>
}

export interface TestClickHouseOptions {
  /** Leaves the folder empty. */
  readonly bare?: boolean
  readonly external?: boolean
  /** False: without the wall, so that only the rights of users hold. */
  readonly wall?: boolean
  readonly env?: Readonly<Record<string, string>>
  readonly limits?: EmbeddedClickHouseOptions['limits'] & object
  /** The folder that holds its data folder. */
  readonly under?: string
  /** Additional configuration of the engine. */
  readonly configXml?: string
}

const silent = pino({ level: 'silent' })

/** On a busy machine a large insert takes more than the client's own minute. */
const ANSWER_WITHIN_MS = 300_000

/** A server, whether it was killed or restarted, and its content right after its first start. */
interface Server {
  readonly url: string
  readonly passwords: Passwords
  readonly path: string
  readonly made: ReadonlyMap<string, string> | undefined
  current: EmbeddedClickHouse
  isUntouched: boolean
}

/** Servers with default options that are free: a start takes 2 s of CPU, and emptying the tables 0.1 s. */
const idle: Server[] = []
let idleMax = 2
atProcessEnd(() => {
  // Hooks of the last file may return more servers after this one.
  idleMax = 0
  return Promise.all(idle.splice(0).map(remove))
})

/**
 * Starts a server, or empties one that another test of this process has used. The test owns it until its end, or until
 * the end of the whole file when no test is given.
 */
export async function startTestClickHouse(
  t?: { after(hook: () => Promise<void>): void },
  options: TestClickHouseOptions = {},
): Promise<TestClickHouse> {
  const isShared = Object.keys(options).length === 0
  const server = (isShared ? idle.pop() : undefined) ?? (await startServer(options, isShared))
  const { url } = server
  const database = options.bare ? {} : { database: DATABASE }
  const client = connectClickHouse(url, { application: 'test', requestTimeoutMs: ANSWER_WITHIN_MS, ...database })
  const cleanUp = async () => {
    await client.close()
    if (server.made !== undefined && idle.length < idleMax && (await isEmptied(server))) idle.push(server)
    else await remove(server)
  }
  if (t) t.after(cleanUp)
  else after(cleanUp)
  return {
    url,
    analystUrl: server.current.analystUrl,
    client,
    walled: server.current.walled,
    get pid() {
      return server.current.pid
    },
    rows: (query) => rowsOf(client, query),
    async kill() {
      server.isUntouched = false
      server.current.kill()
      await server.current.exited
    },
    ended: () => server.current.exited,
    async restart() {
      server.isUntouched = false
      server.current.kill()
      await server.current.exited
      server.current = await launch(server, Number(new URL(url).port), options)
    },
  }
}

function launch(
  { path, passwords }: Pick<Server, 'path' | 'passwords'>,
  port: number,
  options: TestClickHouseOptions,
): Promise<EmbeddedClickHouse> {
  const { bare, under, configXml, ...settings } = options
  return startEmbeddedClickHouse({ path, port, passwords, log: silent, ...settings })
}

async function startServer(options: TestClickHouseOptions, isShared: boolean): Promise<Server> {
  const { bare, under = tmpdir(), configXml } = options
  const path = await mkdtemp(join(under, 'ipid-clickhouse-'))
  if (configXml !== undefined) {
    const folder = join(path, 'config', 'config.d')
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, 'test.xml'), configXml)
  }
  const isReady = bare || (await copySchema(path))
  const passwords = randomPasswords()
  const current = await launch({ path, passwords }, takePort(), options)
  const { url } = current
  if (!isReady) await migrate(url, silent)
  const made = isShared ? await withClient(url, allMadeIn) : undefined
  return { url, path, passwords, current, made, isUntouched: true }
}

async function remove({ current, path }: Server): Promise<void> {
  await current.stop()
  await rm(path, { recursive: true, force: true })
}

async function rowsOf<T>(client: ClickHouseClient, query: string): Promise<T[]> {
  const settings = { output_format_json_quote_64bit_integers: 0 } as const
  const result = await client.query({ query, format: 'JSONEachRow', clickhouse_settings: settings })
  return await result.json<T>()
}

async function withClient<T>(url: string, work: (client: ClickHouseClient) => Promise<T>): Promise<T> {
  const client = connectClickHouse(url, { application: 'test', database: DATABASE })
  try {
    return await work(client)
  } finally {
    await client.close()
  }
}

/** Tables of tests; everything else is views, and the list of migrations. */
const WITH_ROWS = [
  'events',
  'outcomes',
  'company_corrections',
  'entity_days',
  'page_days',
  'zone_days',
  'zone_page_days',
]
const TABLES = `SELECT concat(database, '.', name) AS key, create_table_query AS text,
  concat('DROP ', if(engine = 'Dictionary', 'DICTIONARY', 'TABLE'), ' \`', database, '\`.\`', name, '\` SYNC') AS drop
  FROM system.tables WHERE lower(database) NOT IN ('system', 'information_schema') ORDER BY key`
const DATABASES =
  "SELECT name AS key, '' AS text, concat('DROP DATABASE `', name, '` SYNC') AS drop FROM system.databases ORDER BY key"
const FUNCTIONS = `SELECT name AS key, create_query AS text, concat('DROP FUNCTION \`', name, '\`') AS drop
  FROM system.functions WHERE origin = 'SQLUserDefined' ORDER BY key`

interface Made {
  readonly key: string
  readonly text: string
  readonly drop: string
}

/** Objects made in a server, by the query that lists them: tables go before their databases. */
async function allMadeIn(client: ClickHouseClient): Promise<Map<string, string>> {
  const all = new Map<string, string>()
  for (const query of [TABLES, DATABASES, FUNCTIONS]) {
    for (const { key, text } of await rowsOf<Made>(client, query)) all.set(`${query} ${key}`, text)
  }
  return all
}

/** Drops the objects that tests made. False when an original one is gone or has changed. */
async function isAsMade(client: ClickHouseClient, original: ReadonlyMap<string, string>): Promise<boolean> {
  for (const query of [TABLES, DATABASES, FUNCTIONS]) {
    for (const { key, drop } of await rowsOf<Made>(client, query)) {
      if (!original.has(`${query} ${key}`)) await client.command({ query: drop })
    }
  }
  return isDeepStrictEqual(await allMadeIn(client), original)
}

/** Empties the tables; false when the server differs from its first start. */
async function isEmptied({ url, current, made, isUntouched }: Server): Promise<boolean> {
  if (!isUntouched || made === undefined || !isAlive(current.pid)) return false
  return await withClient(url, async (client) => {
    // A statement of a failed test may still write. This one and those of the watch are left out by its text.
    const running = await rowsOf<{ n: number }>(
      client,
      "SELECT count() AS n FROM system.processes WHERE user != '' AND query NOT LIKE '%FileDescriptorWriteFailed%'",
    )
    if (running[0]?.n !== 0 || !(await isAsMade(client, made))) return false
    for (const name of WITH_ROWS) await client.command({ query: `TRUNCATE TABLE ${name} SYNC` })
    return true
  }).catch(() => false)
}
