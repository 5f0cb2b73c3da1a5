import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import type { ClickHouseClient } from '@clickhouse/client'
import { pino } from 'pino'
import {
  type EmbeddedClickHouse,
  type EmbeddedClickHouseOptions,
  startEmbeddedClickHouse,
} from '../../src/embedded/clickhouse/start.ts'
import { connectClickHouse, DATABASE } from '../../src/stores/clickhouse/client.ts'
import { migrate } from '../../src/stores/clickhouse/migrate.ts'
import { takePort } from './ports.ts'
import { copySchema } from './schema-copy.ts'

/** An embedded ClickHouse of its own, with the schema in it. */
export interface TestClickHouse {
  readonly url: string
  readonly pid: number
  readonly walled: boolean
  /** Of the database `ipid`. */
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
  readonly bodyBytesMax?: number
  readonly external?: boolean
  readonly env?: Readonly<Record<string, string>>
  readonly ownSecret?: string
  readonly sendMsMax?: number
  readonly limits?: EmbeddedClickHouseOptions['limits'] & object
  /** Where its folder is. */
  readonly under?: string
  /** What the engine is to find in its configuration besides. */
  readonly configXml?: string
}

const silent = pino({ level: 'silent' })

/** Starts one; it is stopped and its folder removed after the test, or after the whole file when no test is given. */
export async function startTestClickHouse(
  t?: { after(hook: () => Promise<void>): void },
  options: TestClickHouseOptions = {},
): Promise<TestClickHouse> {
  const { bare, under = tmpdir(), configXml, ...settings } = options
  const path = await mkdtemp(join(under, 'ipid-clickhouse-'))
  if (configXml !== undefined) {
    const folder = join(path, 'config', 'config.d')
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, 'test.xml'), configXml)
  }
  const isReady = bare || (await copySchema(path))
  const launch = (port: number) => startEmbeddedClickHouse({ path, port, log: silent, ...settings })
  let server: EmbeddedClickHouse = await launch(takePort())
  const { url } = server
  const client = connectClickHouse(url, { application: 'test', ...(bare ? {} : { database: DATABASE }) })
  const cleanUp = async () => {
    await client.close()
    await server.stop()
    await rm(path, { recursive: true, force: true })
  }
  if (t) t.after(cleanUp)
  else after(cleanUp)
  if (!isReady) await migrate(url, silent)
  return {
    url,
    client,
    walled: server.walled,
    get pid() {
      return server.pid
    },
    async rows<T>(query: string) {
      const settings = { output_format_json_quote_64bit_integers: 0 } as const
      const result = await client.query({ query, format: 'JSONEachRow', clickhouse_settings: settings })
      return await result.json<T>()
    },
    async kill() {
      server.kill()
      await server.exited
    },
    ended: () => server.exited,
    async restart() {
      server.kill()
      await server.exited
      server = await launch(Number(new URL(url).port))
    },
  }
}
