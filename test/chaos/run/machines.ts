import type { Random } from '../../../src/run/random.ts'
import { startTestCluster, type TestShard } from '../../support/cluster.ts'
import { Machine } from '../../support/machine.ts'
import { takePort } from '../../support/ports.ts'
import { until } from '../../support/until.ts'
import { THIS_VERSION } from '../../upgrade/released.ts'
import type { CleanUp } from './clean-up.ts'
import { type ClusterNode, clusterUrl, startCluster } from './cluster.ts'
import type { Fault, Last, Part } from './faults.ts'
import type { Surroundings } from './services.ts'

/** Everything several times, each on a machine of its own as far as one machine can show it. */
export interface Machines extends Surroundings {
  readonly ingresses: readonly Role[]
  readonly workers: readonly Role[]
  /** Three masters with a replica each, and `waitReplicas=1`. */
  readonly nodes: readonly ClusterNode[]
  readonly shards: readonly TestShard[]
}

/** An `ipid start` with some roles. */
export interface Role {
  readonly name: string
  /** Its running processes. */
  readonly pids: readonly number[]
  readonly url: string
  start(): Promise<void>
  /** Ends it in order. */
  stop(): Promise<void>
  /** `kill -9` of all its processes. */
  kill(): Promise<void>
}

/** How many there are of each. */
export interface MachinesForm {
  /** Ingresses, workers, shares of sinks and feeders, and masters. */
  readonly count: number
  /** Replicas of each master; with one, `waitReplicas=1`. */
  readonly replicas: 0 | 1
}

/** A replica takes over this long after its master fell silent. */
const TAKEOVER_MS = 1_500
/** A rolling restart takes this long: 14 processes, one after the other, on a busy machine. */
const ROLLING_WITHIN_MS = 900_000

export async function startMachines(
  cleanUp: CleanUp,
  { count, replicas }: MachinesForm = { count: 3, replicas: 1 },
): Promise<Machines> {
  const nodes = await startCluster(cleanUp, { nodeTimeoutMs: TAKEOVER_MS, masters: count, replicas })
  const clickhouse = await startTestCluster(cleanUp, { isServed: true })
  const redisUrl = clusterUrl(nodes, replicas === 0 ? '' : '?waitReplicas=1')
  const shares = { PARTITIONS: '6', SINK_SHARES: String(count), FEEDER_SHARES: String(count) }
  const wrong: string[] = []
  const create = async (name: string, roles: string): Promise<Role> => {
    const port = String(takePort())
    const machine = await Machine.create(cleanUp, { ...shares, ...clickhouse.env, REDIS_URL: redisUrl, PORT: port })
    return {
      name,
      url: `http://127.0.0.1:${port}`,
      get pids() {
        return machine.pids
      },
      start: async () => void (await machine.start(THIS_VERSION, ['--roles', roles])),
      async stop() {
        const code = await machine.stop()
        if (code !== 0) wrong.push(`${name} ended with ${code}: ${machine.stderr.slice(-2_000)}`)
      },
      kill: () => machine.kill(),
    }
  }
  const several = (name: string, roles: string) =>
    Promise.all(Array.from({ length: count }, (_, i) => create(`${name} ${i + 1}`, roles)))
  const [ingresses, workers] = [await several('ingress', 'ingress'), await several('worker', 'process,sink,batch')]
  // The first makes the tables.
  await workers[0]!.start()
  await Promise.all([...workers.slice(1), ...ingresses].map((role) => role.start()))
  let turn = 0
  return {
    ...{ ingresses, workers, nodes, redisUrl },
    shards: clickhouse.shards,
    clickhouseUrl: clickhouse.url,
    apiKey: undefined,
    urls() {
      turn++
      return ingresses.map((_, i) => ingresses[(turn + i) % count]!.url)
    },
    async stop() {
      for (const role of [...ingresses, ...workers]) await role.stop()
      return wrong
    },
  }
}

/** For a service on several machines: each process in order and by `kill -9`, masters and shards that stay away, and everything in turn. */
export function faultsOfMachines(machines: Machines): Fault[] {
  const { ingresses, workers, nodes, shards } = machines
  return [
    {
      kind: 'rolling restart of everything',
      weight: 1,
      withinMs: ROLLING_WITHIN_MS,
      async inflict(_random, _last, part) {
        await restartEverything(machines, part)
        return performance.now()
      },
    },
    ended('ingress restarted', 2, ingresses, 'stop'),
    ended('ingress killed', 3, ingresses, 'kill'),
    ended('worker restarted', 2, workers, 'stop'),
    ended('worker killed', 3, workers, 'kill'),
    {
      kind: 'Redis node restarted',
      weight: 2,
      async inflict(random) {
        await restartNode(nodes, random.pick(nodes))
        return performance.now()
      },
    },
    takeover('master killed, its replica takes over', nodes, {
      begin: (master) => master.kill(),
      end: (master) => master.restart(),
    }),
    takeover('master paused, its replica takes over', nodes, {
      begin: (master) => master.signal('SIGSTOP'),
      end: (master) => master.signal('SIGCONT'),
    }),
    ended('shard restarted', 2, shards, 'stop'),
    {
      kind: 'shard lost for a while',
      weight: 3,
      async inflict(random, last) {
        const shard = random.pick(shards)
        await shard.kill()
        await last(random.between(5_000, 10_000))
        const over = performance.now()
        await shard.start()
        return over
      },
    },
  ]
}

interface Restartable {
  start(): Promise<void>
  stop(): Promise<void>
  kill(): Promise<void>
}

function ended(kind: string, weight: number, all: readonly Restartable[], how: 'stop' | 'kill'): Fault {
  return {
    kind,
    weight,
    async inflict(random) {
      const one = random.pick(all)
      await one[how]()
      const over = performance.now()
      await one.start()
      return over
    },
  }
}

interface Outage {
  begin(master: ClusterNode): Promise<void> | void
  end(master: ClusterNode): Promise<void> | void
}

/** With one replica for each master, nothing is accepted until the lost one is back, as a replica. */
function takeover(kind: string, nodes: readonly ClusterNode[], { begin, end }: Outage): Fault {
  return {
    kind,
    weight: 3,
    async inflict(random: Random, last: Last) {
      const { master, replica } = random.pick(await pairs(nodes))
      await begin(master)
      await until(() => replica.isMaster(), Boolean)
      await last(random.between(0, 3_000))
      const over = performance.now()
      await end(master)
      return over
    },
  }
}

interface Pair {
  readonly master: ClusterNode
  readonly replica: ClusterNode
}

/** Resolves once each master has a replica with all its writes, and every node agrees. */
async function pairs(nodes: readonly ClusterNode[]): Promise<Pair[]> {
  // A node that has just started does not answer yet.
  const look = async () => {
    const found: Pair[] = []
    for (const replica of nodes) {
      const [state, info] = await Promise.all([
        replica.client.call('CLUSTER', 'INFO'),
        replica.client.info('replication'),
      ])
      if (!/cluster_state:ok/.test(String(state))) return undefined
      const port = await replica.masterPort()
      if (port === undefined) continue
      const master = nodes.find((node) => node.port === port)!
      const isOnline = /state=online/.test(await master.client.info('replication'))
      if (isOnline && /master_link_status:up/.test(info)) found.push({ master, replica })
    }
    return found.length === nodes.length / 2 ? found : undefined
  }
  return await until(look, (found) => found !== undefined)
}

/** A master hands over first, as an operator makes it: its replica has every write then. */
async function restartNode(nodes: readonly ClusterNode[], node: ClusterNode): Promise<void> {
  const pair = (await pairs(nodes)).find(({ master }) => master === node)
  if (pair !== undefined) {
    await pair.replica.client.call('CLUSTER', 'FAILOVER')
    await until(async () => (await node.masterPort()) === pair.replica.port, Boolean)
    await pairs(nodes)
  }
  await node.stop()
  await node.restart()
  await pairs(nodes)
}

/** Ingresses, workers, nodes of Redis, shards: the next one when the one before works again. */
async function restartEverything({ ingresses, workers, nodes, shards }: Machines, part: Part): Promise<void> {
  for (const [name, all] of [
    ['ingresses', ingresses],
    ['workers', workers],
  ] as const) {
    part(name)
    for (const role of all) {
      await role.stop()
      await role.start()
    }
  }
  part('Redis')
  for (const node of nodes) await restartNode(nodes, node)
  part('shards')
  for (const shard of shards) {
    await shard.stop()
    await shard.start()
  }
}
