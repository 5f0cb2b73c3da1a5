import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis, type RedisOptions } from 'ioredis'
import { selfSigned } from './certificate.ts'
import { takePort } from './ports.ts'
import { until } from './until.ts'

const NAME = 'mymaster'
/** How fast the Sentinels notice things, milliseconds. */
const DOWN_AFTER_MS = 1_000
const PERIOD_MS = 300
const FAILOVER_MS = 10_000
const PAUSE_MS = 10_000

/** A Redis server or a Sentinel, with a configuration file that it may rewrite. */
export class SentinelNode {
  readonly port: number
  readonly client: Redis
  readonly #args: readonly string[]
  #child: ChildProcess

  /** @param port 0: none without TLS @param more arguments of the server, options of `client` */
  constructor(
    port: number,
    dir: string,
    lines: readonly string[],
    { args = [], client = {} }: { readonly args?: readonly string[]; readonly client?: RedisOptions } = {},
  ) {
    this.port = port
    mkdirSync(dir)
    const file = join(dir, 'redis.conf')
    writeFileSync(file, [`port ${port}`, 'bind 127.0.0.1', `dir ${dir}`, ...lines, ''].join('\n'))
    this.#args = [file, ...args]
    this.#child = this.#launch()
    this.client = new Redis({ port, retryStrategy: () => 50, maxRetriesPerRequest: null, protocol: 2, ...client })
    this.client.on('error', () => {})
  }

  get address(): string {
    return `127.0.0.1:${this.port}`
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name)
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const gone = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await gone
  }

  async end(): Promise<void> {
    this.client.disconnect()
    await this.kill()
  }

  async restart(): Promise<void> {
    await this.kill()
    this.#child = this.#launch()
    await this.client.ping()
  }

  async role(): Promise<string> {
    return ((await this.client.call('ROLE')) as [string])[0]
  }

  /** Cuts a master off from the replicas and the Sentinels. Its clients stay connected. */
  async isolate(): Promise<void> {
    await this.client.config('SET', 'requirepass', 'nobody-knows')
    for (const kind of ['replica', 'pubsub']) await this.client.call('CLIENT', 'KILL', 'TYPE', kind)
    const clients = String(await this.client.call('CLIENT', 'LIST'))
    for (const [, id] of clients.matchAll(/^id=(\d+) .* name=sentinel-/gm))
      await this.client.call('CLIENT', 'KILL', 'ID', id!)
  }

  async rejoin(): Promise<void> {
    await this.client.config('SET', 'requirepass', '')
  }

  #launch(): ChildProcess {
    return spawn('redis-server', this.#args, { stdio: 'ignore' })
  }
}

/** Three Redis servers, and three Sentinels that watch their master. */
export class SentinelSet {
  readonly servers: readonly SentinelNode[]
  readonly sentinels: readonly SentinelNode[]

  constructor(servers: readonly SentinelNode[], sentinels: readonly SentinelNode[]) {
    this.servers = servers
    this.sentinels = sentinels
  }

  /** @param ports of the Sentinels; default: their own */
  url(query = '', ports: readonly number[] = this.sentinels.map(({ port }) => port)): string {
    return `redis-sentinel://${ports.map((port) => `127.0.0.1:${port}`).join(',')}/${NAME}${query}`
  }

  /** The master by the vote of all Sentinels that answer; undefined while they differ. */
  async master(): Promise<SentinelNode | undefined> {
    const ports = await Promise.all(
      this.sentinels.map(async ({ client }) => {
        const [, port] = (await client.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', NAME)) as [string, string]
        return Number(port)
      }),
    )
    return ports.every((port) => port === ports[0]) ? this.servers.find(({ port }) => port === ports[0]) : undefined
  }

  /** Resolves with the master once all Sentinels name another one than `old`, and it is one. */
  async nextMaster(old: SentinelNode): Promise<SentinelNode> {
    return await until(async () => {
      const master = await this.master()
      if (master === undefined || master === old || (await master.role()) !== 'master') return undefined
      return master
    })
  }

  /** Resolves when all other servers replicate the master, and every Sentinel knows it. */
  async whole(): Promise<SentinelNode> {
    return await until(async () => {
      const master = await this.master()
      if (master === undefined) return undefined
      const info = await master.client.info('replication')
      const online = info.match(/^slave\d+:.*state=online/gm)?.length ?? 0
      if (!info.includes('role:master') || online < this.servers.length - 1) return undefined
      const known = await Promise.all(this.sentinels.map(({ client }) => goodReplicas(client)))
      return known.every((count) => count === this.servers.length - 1) ? master : undefined
    })
  }

  /** Makes another server the master, as an operator does before maintenance: no write happens meanwhile. */
  async handOver(): Promise<SentinelNode> {
    const old = await this.whole()
    await old.client.call('CLIENT', 'PAUSE', PAUSE_MS, 'WRITE')
    await until(
      () => this.sentinels[0]!.client.call('SENTINEL', 'FAILOVER', NAME),
      (reply) => reply === 'OK',
    )
    const next = await this.nextMaster(old)
    await old.client.call('CLIENT', 'UNPAUSE')
    return next
  }
}

/** One server and its Sentinel with passwords, which speak TLS only. @returns the URL, and the file of its certificate authority */
export async function startSecretSet(t: {
  after(hook: () => Promise<void>): void
}): Promise<{ url: string; authority: string }> {
  const dir = await mkdtemp(join(tmpdir(), 'ipid-sentinel-'))
  const { key, certificate } = await selfSigned(dir)
  const files = [`tls-cert-file ${certificate}`, `tls-key-file ${key}`, `tls-ca-cert-file ${certificate}`]
  const [port, watchPort] = [takePort(), takePort()]
  const tls = (own: number) => [`tls-port ${own}`, ...files, 'tls-auth-clients no', 'tls-replication yes']
  const clientOptions = { tls: { ca: readFileSync(certificate) } }
  const server = new SentinelNode(0, join(dir, 'server'), [...tls(port), 'requirepass "p@ss"'], {
    client: { ...clientOptions, port, password: 'p@ss' },
  })
  const watch = [`sentinel monitor ${NAME} 127.0.0.1 ${port} 1`, `sentinel auth-pass ${NAME} p@ss`]
  const sentinel = new SentinelNode(0, join(dir, 'sentinel'), [...tls(watchPort), 'requirepass watch&me', ...watch], {
    args: ['--sentinel'],
    client: { ...clientOptions, port: watchPort, password: 'watch&me' },
  })
  t.after(async () => {
    for (const node of [server, sentinel]) await node.end()
    await rm(dir, { recursive: true, force: true, maxRetries: 5 })
  })
  await until(async () => (await factOf(sentinel.client, 'flags')) === 'master')
  const url = `rediss-sentinel://:p%40ss@127.0.0.1:${watchPort}/${NAME}?sentinelPassword=watch%26me`
  return { url, authority: certificate }
}

/** Starts them; they end after the test. @param lines more of each server's configuration */
export async function startSentinelSet(
  t: { after(hook: () => Promise<void>): void },
  lines: readonly string[] = [],
): Promise<SentinelSet> {
  const dir = await mkdtemp(join(tmpdir(), 'ipid-sentinel-'))
  const nodes: SentinelNode[] = []
  t.after(async () => {
    for (const node of nodes) await node.end()
    await rm(dir, { recursive: true, force: true, maxRetries: 5 })
  })
  const durable = ['save ""', 'appendonly yes', 'appendfsync always', 'repl-diskless-sync-delay 0', ...lines]
  const start = (kind: string, own: readonly string[], args: readonly string[] = []) => {
    const node = new SentinelNode(takePort(), join(dir, `${kind}-${nodes.length}`), own, { args })
    nodes.push(node)
    return node
  }
  const master = start('server', durable)
  const replicaOf = `replicaof 127.0.0.1 ${master.port}`
  const servers = [master, start('server', [...durable, replicaOf]), start('server', [...durable, replicaOf])]
  const watch = [
    `sentinel monitor ${NAME} 127.0.0.1 ${master.port} 2`,
    `sentinel down-after-milliseconds ${NAME} ${DOWN_AFTER_MS}`,
    `sentinel failover-timeout ${NAME} ${FAILOVER_MS}`,
    `sentinel parallel-syncs ${NAME} 2`,
  ]
  for (const { client } of servers) await client.ping()
  const sentinels = [1, 2, 3].map(() => start('sentinel', watch, ['--sentinel']))
  for (const { client } of sentinels) {
    await client.call('SENTINEL', 'DEBUG', 'INFO-PERIOD', PERIOD_MS, 'PUBLISH-PERIOD', PERIOD_MS)
  }
  const set = new SentinelSet(servers, sentinels)
  await until(async () => {
    const known = await Promise.all(sentinels.map(({ client }) => factOf(client, 'num-other-sentinels')))
    return known.every((others) => others === '2')
  })
  await set.whole()
  return set
}

async function factOf(sentinel: Redis, name: string): Promise<string | undefined> {
  const facts = (await sentinel.call('SENTINEL', 'MASTER', NAME)) as string[]
  return facts[facts.indexOf(name) + 1]
}

async function goodReplicas(sentinel: Redis): Promise<number> {
  const replicas = (await sentinel.call('SENTINEL', 'REPLICAS', NAME)) as string[][]
  return replicas.filter((facts) => {
    const value = (name: string) => facts[facts.indexOf(name) + 1]
    return value('flags') === 'slave' && value('master-link-status') === 'ok'
  }).length
}
