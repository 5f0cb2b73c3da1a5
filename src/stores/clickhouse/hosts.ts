import type { ClickHouseClient } from '@clickhouse/client'
import { causeText } from '../../run/cause-text.ts'
import { StartupError, UnavailableError } from '../../run/errors.ts'
import { type ClickHouseClientOptions, connectClickHouse, DATABASE } from './client.ts'
import { assertForm, formOfTables, read, shardsOf } from './cluster.ts'
import { everyShard, holderOf } from './cluster-form.ts'
import { quote, quoteName } from './quote.ts'

/** How to reach the tables, as the settings say. */
export interface ClickHousePlace {
  /** As for `connectClickHouse`. */
  readonly url: string
  readonly cluster?: string | undefined
  /** URLs of all hosts of the cluster. */
  readonly hosts?: readonly string[] | undefined
}

/** A host that keeps rows of a shard. */
export interface Host {
  /** Its address, without secrets. */
  readonly name: string
  /** Uses the database `ipid`. */
  readonly client: ClickHouseClient
}

/** The hosts of a shard. Statements go to the first one, and the others replicate its changes. */
export type Shard = readonly [writer: Host, ...replicas: Host[]]

/** The servers with the tables. A single server is the only host of the only shard. */
export class Hosts {
  /** Reads the rows of all shards, under the public names of the tables. */
  readonly front: ClickHouseClient
  readonly shards: readonly Shard[]
  readonly #cluster: string | undefined

  constructor(front: ClickHouseClient, shards: readonly Shard[], cluster: string | undefined) {
    this.front = front
    this.shards = shards
    this.#cluster = cluster
  }

  static ofOne(client: ClickHouseClient): Hosts {
    return new Hosts(client, [[{ name: 'ClickHouse', client }]], undefined)
  }

  get isCluster(): boolean {
    return this.#cluster !== undefined
  }

  get hasReplicas(): boolean {
    return this.shards.some((shard) => shard.length > 1)
  }

  get all(): readonly Host[] {
    return this.shards.flat()
  }

  /** One host of each shard. */
  get writers(): readonly Host[] {
    return this.shards.map(([writer]) => writer)
  }

  /** The table with the rows of `table` on each host. */
  readonly holder = (table: string): string => (this.isCluster ? holderOf(table) : table)

  /** The rows of a table that each host has for itself, for a query to any host. */
  everywhere(table: string): string {
    return this.#cluster === undefined ? table : everyShard(this.#cluster, `${DATABASE}.${table}`)
  }
}

/**
 * Calls `work` for all at once.
 * @throws the error of the first that failed, when all have ended
 */
export async function onEach<Item, Result>(
  items: readonly Item[],
  work: (item: Item, index: number) => Promise<Result>,
): Promise<Result[]> {
  const ended = await Promise.allSettled(items.map(work))
  return ended.map((end) => {
    if (end.status === 'rejected') throw end.reason
    return end.value
  })
}

/** Connects to one server, or to all hosts of a cluster. */
export class HostConnections {
  /** Connects to CLICKHOUSE_URL. */
  readonly front: ClickHouseClient
  readonly #place: ClickHousePlace
  readonly #options: ClickHouseClientOptions
  readonly #clients = new Map<string, ClickHouseClient>()
  #hosts: Hosts | undefined

  /** @param place its URL alone: if that is a cluster, `find` rejects */
  constructor(place: ClickHousePlace | string, options: ClickHouseClientOptions) {
    this.#place = typeof place === 'string' ? { url: place } : place
    this.#options = { database: DATABASE, ...options }
    this.front = connectClickHouse(this.#place.url, this.#options)
  }

  /**
   * The hosts as they are now. Each has what any of them had stored before.
   * @throws StartupError when CLICKHOUSE_HOSTS does not name each host of the cluster once, or the tables have another form;
   * UnavailableError when a host does not answer
   */
  async find(): Promise<Hosts> {
    const form = await formOfTables(this.front)
    const { cluster = form?.cluster, hosts: urls } = this.#place
    assertForm(form, cluster)
    if (cluster === undefined) this.#hosts = Hosts.ofOne(this.front)
    else {
      assertNamed(cluster, urls)
      await shardsOf(this.front, cluster)
      const members = await membersOf(this.front, cluster)
      const found = await onEach(urls, async (url) => await this.#memberAt(url, cluster))
      this.#hosts = new Hosts(this.front, byShard(members, found), cluster)
      await synchronise(this.#hosts)
    }
    return this.#hosts
  }

  /** The hosts as last found. */
  async found(): Promise<Hosts> {
    return this.#hosts ?? (await this.find())
  }

  /** Resolves when each replica has everything that was stored before the call. */
  async synchronised(): Promise<void> {
    if (this.#hosts === undefined) await this.find()
    else await synchronise(this.#hosts)
  }

  async close(): Promise<void> {
    await Promise.all([this.front, ...this.#clients.values()].map((client) => client.close()))
  }

  /** The cluster member at a URL. */
  async #memberAt(url: string, cluster: string): Promise<Member & Host> {
    const { host: name } = new URL(url)
    const client = this.#clientOf(url)
    const local = await membersOf(client, cluster, 'AND is_local').catch((cause) => {
      throw new UnavailableError(`${name} of CLICKHOUSE_HOSTS does not answer: ${causeText(cause)}`, { cause })
    })
    if (local.length === 1) return { ...local[0]!, name, client }
    throw new StartupError(
      `CLICKHOUSE_HOSTS: ${name} must be one host of cluster "${cluster}", but its system.clusters marks ${local.length} as itself (is_local)`,
    )
  }

  #clientOf(url: string): ClickHouseClient {
    const made = this.#clients.get(url)
    if (made !== undefined) return made
    const address = new URL(url)
    const { username, password } = new URL(this.#place.url)
    if (address.username === '' && address.password === '') Object.assign(address, { username, password })
    const client = connectClickHouse(address.href, this.#options)
    this.#clients.set(url, client)
    return client
  }
}

/** @throws StartupError when CLICKHOUSE_HOSTS is not set */
export function assertNamed(
  cluster: string,
  hosts: ClickHousePlace['hosts'],
): asserts hosts is NonNullable<ClickHousePlace['hosts']> {
  if (hosts !== undefined) return
  const needed = 'http://host:8123 of each of its hosts, separated by commas'
  throw new StartupError(
    `the tables are on the ClickHouse cluster "${cluster}", and each host has to do its part: set CLICKHOUSE_CLUSTER to its name, and CLICKHOUSE_HOSTS to ${needed}`,
  )
}

/** A host, as `system.clusters` has it. */
interface Member {
  readonly shard: number
  readonly replica: number
  readonly address: string
}

async function membersOf(client: ClickHouseClient, cluster: string, condition = ''): Promise<Member[]> {
  const rows = await read<[number, number, string]>(
    client,
    `SELECT shard_num, replica_num, concat(host_name, ':', toString(port)) FROM system.clusters
     WHERE cluster = ${quote(cluster)} ${condition} ORDER BY shard_num, replica_num`,
  )
  return rows.map(([shard, replica, address]) => ({ shard, replica, address }))
}

/** @throws StartupError unless each member is found once */
function byShard(members: readonly Member[], found: readonly (Member & Host)[]): Shard[] {
  const shards = new Map<number, Host[]>()
  for (const { shard, replica, address } of members) {
    const hosts = found.filter((host) => host.shard === shard && host.replica === replica)
    const what = `shard ${shard}, replica ${replica} (${address})`
    if (hosts.length === 0) throw new StartupError(`CLICKHOUSE_HOSTS lacks a host of the cluster: ${what}`)
    if (hosts.length > 1)
      throw new StartupError(
        `CLICKHOUSE_HOSTS names ${what} ${hosts.length} times: ${hosts.map(({ name }) => name).join(', ')}`,
      )
    shards.set(shard, [...(shards.get(shard) ?? []), ...hosts])
  }
  return [...shards.values()] as unknown as Shard[]
}

/** A replica may lag. Tables without replicas are not listed. */
async function synchronise({ isCluster, all }: Hosts): Promise<void> {
  if (!isCluster) return
  await onEach(all, async ({ client }) => {
    const tables = await read<[string]>(client, `SELECT table FROM system.replicas WHERE database = ${quote(DATABASE)}`)
    await onEach(tables, ([table]) => client.command({ query: `SYSTEM SYNC REPLICA ${quoteName(table)}` }))
  })
}
