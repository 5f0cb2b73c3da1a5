import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ClickHouseClient } from '@clickhouse/client'
import { pino } from 'pino'
import { randomPasswords } from '../../src/embedded/clickhouse/passwords.ts'
import { type EmbeddedClickHouse, startEmbeddedClickHouse } from '../../src/embedded/clickhouse/start.ts'
import { connectClickHouse } from '../../src/stores/clickhouse/client.ts'
import { partsOf } from './fetch-clickhouse.ts'
import { takePort } from './ports.ts'

/*
 * Two ClickHouse servers as the shards of a cluster. They have no Keeper: nothing runs ON CLUSTER, and replicated tables stay
 * read-only. So `url` runs a statement ON CLUSTER on each of the two by itself, with plain tables in place of replicated ones. Every
 * other statement goes to the first shard as it is.
 */

/** One of the servers. */
export interface TestShard {
  readonly url: string
  readonly folder: string
  readonly client: ClickHouseClient
  /** Id of the running process. */
  readonly pid: number | undefined
  /** Rows of a SELECT, as objects; 64-bit numbers are numbers. */
  rows<T = Record<string, unknown>>(query: string): Promise<T[]>
  /** `kill -9`; resolves when the process is gone. */
  kill(): Promise<void>
  /** Ends it in order; resolves when the process is gone. */
  stop(): Promise<void>
  /** Starts it again on the same folder and ports. */
  start(): Promise<void>
}

export interface TestCluster {
  /** The settings of an ipid on both shards. */
  readonly env: Readonly<Record<'CLICKHOUSE_URL' | 'CLICKHOUSE_CLUSTER' | 'CLICKHOUSE_HOSTS', string>>
  /** For CLICKHOUSE_URL. */
  readonly url: string
  /** For CLICKHOUSE_HOSTS. */
  readonly hosts: readonly string[]
  readonly shards: readonly [TestShard, TestShard]
  /** Statements for all hosts, as received. */
  readonly onCluster: string[]
  /** Settings of inserts with data, as received. */
  readonly inserts: Record<string, string>[]
}

const silent = pino({ level: 'silent' })
/** The user of both servers, who may do everything. */
const passwords = randomPasswords()

/**
 * Clusters by name: `both` (the two servers as shards), `one` (the first as the only shard), `away` (the first, and a replica that does
 * not answer), `lagging` (the two as replicas, and one that does not answer).
 * @param isServed `url` sends what the first shard does not take to the second, as a load balancer does, and a shard that ends by itself
 *   is started again. This program cannot bear a connection between two shards that is reset.
 */
export async function startTestCluster(t: Test, { isServed = false } = {}): Promise<TestCluster> {
  const tcpPorts = [takePort(), takePort()] as const
  const start = (index: number) => startShard(t, index, tcpPorts, isServed)
  const shards = [await start(0), await start(1)] as const
  const onCluster: string[] = []
  const inserts: Record<string, string>[] = []
  const ask = async (shard: TestShard, path: string, method: string, body: Buffer | string) => {
    const { origin, headers } = partsOf(shard.url)
    const answer = await fetch(new URL(path, origin), { method, headers, ...(method === 'POST' && { body }) })
    return { answer, bytes: Buffer.from(await answer.arrayBuffer()) }
  }
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray())
    const { url: path = '/', method = 'POST' } = request
    const { searchParams: params } = new URL(path, shards[0].url)
    if (params.get('query')?.startsWith('INSERT')) inserts.push(Object.fromEntries(params))
    const text = body.toString('latin1')
    const isForAll = / ON CLUSTER `\w+`/.test(text)
    if (isForAll) onCluster.push(body.toString())
    try {
      if (isForAll) await ask(shards[1], path, method, onOneServer(body.toString()))
      const first = ask(shards[0], path, method, isForAll ? onOneServer(body.toString()) : body)
      const { answer, bytes } = await first.catch((error: Error) => {
        if (!isServed || isForAll) throw error
        return ask(shards[1], path, method, body)
      })
      const sent = [...answer.headers].filter(([name]) => /^(?:content-type|x-clickhouse)/.test(name))
      response.writeHead(answer.status, Object.fromEntries(sent))
      response.end(bytes)
    } catch {
      request.socket.destroy()
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const front = new URL(shards[0].url)
  front.port = String((server.address() as AddressInfo).port)
  const url = front.href
  const hosts = shards.map((shard) => shard.url)
  const env = { CLICKHOUSE_URL: url, CLICKHOUSE_CLUSTER: 'both', CLICKHOUSE_HOSTS: hosts.join() }
  return { env, url, hosts, shards, onCluster, inserts }
}

/** Makes a statement for all hosts one for a server without Keeper. */
function onOneServer(statement: string): string {
  return statement
    .replace(/ ON CLUSTER `\w+`/, '')
    .replace(/ReplicatedMergeTree\([^)]*\)/, 'MergeTree')
    .replace(/\breplicated_deduplication_window_seconds = \d+/, 'merge_with_ttl_timeout = 14400')
    .replace(/\breplicated_deduplication_window = /, 'non_replicated_deduplication_window = ')
}

interface Test {
  after(hook: () => Promise<void> | void): void
}

async function startShard(t: Test, index: number, tcpPorts: readonly number[], isServed: boolean): Promise<TestShard> {
  const folder = await mkdtemp(join(tmpdir(), 'ipid-shard-'))
  const path = join(folder, 'data')
  const port = takePort()
  const more = join(path, 'config', 'config.d')
  await mkdir(more, { recursive: true })
  await writeFile(join(more, 'cluster.xml'), configOf(index, tcpPorts))
  const launch = () =>
    startEmbeddedClickHouse({ path, port, tcpPort: tcpPorts[index]!, passwords, external: true, log: silent })
  let running: EmbeddedClickHouse | undefined
  /** @param ended the process that it replaces; one that was ended since stays so */
  const start = async (ended?: EmbeddedClickHouse) => {
    const mine = await launch()
    if (running !== ended) return mine.kill()
    running = mine
    void mine.exited.then(() => {
      if (isServed && running === mine) start(mine).catch(() => {})
    })
  }
  await start()
  const url = running!.analystUrl
  const client = connectClickHouse(url, { application: 'test' })
  const end = async (how: 'kill' | 'stop') => {
    const ended = running
    running = undefined
    await ended?.[how]()
    await ended?.exited
  }
  const kill = () => end('kill')
  t.after(async () => {
    await client.close()
    await kill()
    await rm(folder, { recursive: true, force: true })
  })
  return {
    ...{ url, folder, client, kill },
    get pid() {
      return running?.pid
    },
    start: () => start(),
    stop: () => end('stop'),
    async rows(query) {
      const settings = { output_format_json_quote_64bit_integers: 0 } as const
      const result = await client.query({ query, format: 'JSONEachRow', clickhouse_settings: settings })
      return await result.json()
    },
  }
}

/** Nothing listens on this port. */
const CLOSED_PORT = 1

function configOf(index: number, tcpPorts: readonly number[]): string {
  const user = `<user>analyst</user><password>${passwords.analyst}</password>`
  const shard = (...ports: readonly number[]) => {
    const replicas = ports.map((port) => `<replica><host>127.0.0.1</host><port>${port}</port>${user}</replica>`)
    return `<shard><internal_replication>true</internal_replication>${replicas.join('')}</shard>`
  }
  const [first, second] = tcpPorts as [number, number]
  return `<clickhouse>
  <macros><shard>0${index + 1}</shard><replica>r1</replica></macros>
  <zookeeper><implementation>testkeeper</implementation></zookeeper>
  <remote_servers>
    <one>${shard(first)}</one>
    <both>${shard(first)}${shard(second)}</both>
    <away>${shard(first, CLOSED_PORT)}</away>
    <lagging>${shard(first, second, CLOSED_PORT)}</lagging>
  </remote_servers>
</clickhouse>`
}
