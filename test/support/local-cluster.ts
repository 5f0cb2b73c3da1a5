import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { startTestClickHouse, type TestClickHouse } from './clickhouse.ts'

/*
 * The embedded engine as hosts of clusters. It has Distributed tables over itself, and the functions that ask all
 * replicas. But it accepts no connections of other hosts, executes nothing ON CLUSTER, and keeps a replicated table
 * read-only for ever. So a proxy removes ON CLUSTER, makes plain tables of replicated ones, and sends inserts to the
 * table itself. The proxy records changed statements in their original form.
 */

/** All hosts are the engine, except this one, where nothing answers. */
const AWAY = '127.0.0.2'

function shard(...hosts: string[]): string {
  const replicas = hosts.map((host) => {
    const port = host === AWAY ? 1 : 9000
    return `<replica><host>${host}</host><port>${port}</port></replica>`
  })
  return `<shard><internal_replication>true</internal_replication>${replicas.join('')}</shard>`
}

const CONFIG = `<clickhouse>
  <tcp_port>9000</tcp_port>
  <treat_local_port_as_remote>0</treat_local_port_as_remote>
  <macros><shard>01</shard><replica>r1</replica></macros>
  <zookeeper><implementation>testkeeper</implementation></zookeeper>
  <remote_servers>
    <one>${shard('localhost')}</one>
    <both>${shard('localhost')}${shard('127.0.0.1')}</both>
    <away>${shard('localhost', AWAY)}</away>
    <lagging>${shard('localhost', '127.0.0.1', AWAY)}</lagging>
  </remote_servers>
</clickhouse>`

export interface LocalCluster {
  /** The product connects here. */
  readonly url: string
  /** Without the proxy. */
  readonly clickhouse: TestClickHouse
  /** Statements for all hosts, as received. */
  readonly onCluster: string[]
  /** Settings of inserts with data, as received. */
  readonly inserts: Record<string, string>[]
}

/**
 * Clusters by name: `one` (a shard of one host), `both` (two shards, which are the same host), `away` (a host and a replica of
 * it that does not answer), `lagging` (two replicas, which are the same host, and one that does not answer).
 */
export async function startLocalCluster(t: TestContext): Promise<LocalCluster> {
  const clickhouse = await startTestClickHouse(t, { bare: true, external: true, configXml: CONFIG })
  const onCluster: string[] = []
  const inserts: Record<string, string>[] = []
  const server = createServer(async (request, response) => {
    const url = new URL(request.url!, clickhouse.url)
    const chunks = await request.toArray()
    let body = Buffer.concat(chunks)
    const { searchParams: params } = url
    if (params.get('query')?.startsWith('INSERT')) inserts.push(Object.fromEntries(params))
    if (params.has('prefer_localhost_replica')) params.set('prefer_localhost_replica', '1')
    const text = body.toString()
    if (/\bON CLUSTER\b/.test(text)) {
      onCluster.push(text)
      body = Buffer.from(onOneServer(text))
    }
    const { host: _, connection: __, 'content-length': ___, 'transfer-encoding': ____, ...headers } = request.headers
    const answer = await fetch(url, { method: request.method!, headers: headers as Record<string, string>, body })
    const told = [...answer.headers].filter(([name]) => /^(?:content-type|x-clickhouse)/.test(name))
    response.writeHead(answer.status, Object.fromEntries(told))
    response.end(Buffer.from(await answer.arrayBuffer()))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, clickhouse, onCluster, inserts }
}

/** Runs a statement for all hosts on the only one. */
function onOneServer(statement: string): string {
  return statement
    .replace(/ ON CLUSTER `\w+`/, '')
    .replace(/ReplicatedMergeTree\([^)]*\)/, 'MergeTree')
    .replace(/\breplicated_deduplication_window_seconds = \d+/, 'index_granularity = 8192')
    .replace(/\breplicated_deduplication_window = /, 'non_replicated_deduplication_window = ')
}
