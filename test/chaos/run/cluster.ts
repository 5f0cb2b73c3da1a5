import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { takePort } from '../../support/ports.ts'
import { until } from '../../support/until.ts'

const SLOTS = 16_384

/** One process of a Redis Cluster. */
export class ClusterNode {
  readonly client: Redis
  readonly port: number
  readonly busPort: number
  readonly #args: readonly string[]
  #child: ChildProcess

  constructor(port: number, busPort: number, args: readonly string[]) {
    this.port = port
    this.busPort = busPort
    this.#args = [...args, '--port', String(port), '--cluster-port', String(busPort)]
    this.#child = this.#launch()
    this.client = new Redis({ port, retryStrategy: () => 50, maxRetriesPerRequest: null })
    this.client.on('error', () => {})
  }

  get pid(): number {
    return this.#child.pid!
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name)
  }

  kill(): Promise<void> {
    return this.#end('SIGKILL')
  }

  /** Ends it in order: a master waits for its replicas. */
  stop(): Promise<void> {
    return this.#end('SIGTERM')
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const gone = once(this.#child, 'exit')
    this.#child.kill(signal)
    await gone
  }

  async restart(): Promise<void> {
    this.#child = this.#launch()
    await this.client.ping()
  }

  async isMaster(): Promise<boolean> {
    return String(await this.client.call('ROLE')).startsWith('master')
  }

  /** The port of its master; undefined: it is one. */
  async masterPort(): Promise<number | undefined> {
    const [role, , port] = (await this.client.call('ROLE')) as [string, string, number]
    return role === 'slave' ? port : undefined
  }

  #launch(): ChildProcess {
    return spawn('redis-server', this.#args, { stdio: 'ignore' })
  }
}

export interface ClusterForm {
  /** After which a replica takes over from a master that does not answer. */
  readonly nodeTimeoutMs: number
  readonly masters?: number
  /** Replicas of each master. */
  readonly replicas?: number
}

/** Starts a Redis Cluster; by default three masters with a replica each. The masters are the first nodes. */
export async function startCluster(
  cleanUp: { after(hook: () => Promise<void>): void },
  { nodeTimeoutMs, masters: count = 3, replicas = 1 }: ClusterForm,
): Promise<readonly ClusterNode[]> {
  const dir = await mkdtemp(join(tmpdir(), 'ipid-cluster-'))
  cleanUp.after(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }))
  const nodes: ClusterNode[] = []
  cleanUp.after(async () => {
    for (const node of nodes) {
      node.client.disconnect()
      await node.kill()
    }
  })
  for (let i = 0; i < (1 + replicas) * count; i++)
    nodes.push(new ClusterNode(takePort(), takePort(), nodeArgs(dir, i, nodeTimeoutMs)))
  const masters = nodes.slice(0, count)
  for (const [i, { client }] of masters.entries()) {
    const [from, end] = [i, i + 1].map((n) => Math.floor((n * SLOTS) / count))
    await client.call('CLUSTER', 'ADDSLOTSRANGE', from!, end! - 1)
  }
  for (const { port, busPort } of nodes.slice(1)) {
    await nodes[0]!.client.call('CLUSTER', 'MEET', '127.0.0.1', port, busPort)
  }
  for (const [i, { client }] of nodes.entries()) {
    await until(async () =>
      String(await client.call('CLUSTER', 'INFO')).includes(`cluster_known_nodes:${nodes.length}\r`),
    )
    if (i < count) continue
    const master = String(await masters[i % count]!.client.call('CLUSTER', 'MYID'))
    await until(
      () => client.call('CLUSTER', 'REPLICATE', master),
      (reply) => reply === 'OK',
    )
    await until(async () => /master_link_status:up/.test(await client.info('replication')))
  }
  for (const { client } of nodes) {
    await until(async () => /cluster_state:ok/.test(String(await client.call('CLUSTER', 'INFO'))))
  }
  return nodes
}

/** @param query as in `?waitReplicas=1` */
export function clusterUrl(nodes: readonly ClusterNode[], query = ''): string {
  return `redis-cluster://${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}${query}`
}

function nodeArgs(dir: string, i: number, nodeTimeoutMs: number): readonly string[] {
  const files = ['--dir', dir, '--cluster-config-file', `nodes-${i}.conf`, '--appenddirname', `aof-${i}`]
  const cluster = [
    '--bind',
    '127.0.0.1',
    '--cluster-announce-ip',
    '127.0.0.1',
    '--cluster-enabled',
    'yes',
    '--cluster-node-timeout',
    String(nodeTimeoutMs),
  ]
  const durable = [
    '--save',
    '',
    '--appendonly',
    'yes',
    '--dbfilename',
    `dump-${i}.rdb`,
    '--repl-diskless-sync-delay',
    '0',
  ]
  return [...files, ...cluster, ...durable]
}
