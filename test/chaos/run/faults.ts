import type { Redis } from 'ioredis'
import { ingest } from '../../../pipelines/ingest.ts'
import type { Random } from '../../../src/run/random.ts'
import { keys } from '../../../src/stores/redis/keys.ts'
import { type TestInstance, VICTIMS } from '../../support/instance.ts'
import type { SentinelNode } from '../../support/sentinel.ts'
import type { CuttingProxy } from './proxy.ts'
import type { Clustered, Own, Proxied, SecondSet, Watched } from './services.ts'
import type { SmallDisk } from './small-disk.ts'

/** A fault of a running service. */
export interface Fault {
  readonly kind: string
  /** Its frequency, relative to the others. */
  readonly weight: number
  /**
   * Resolves when it is over. Rejects when it is impossible now, as a kill of a process that does not run.
   * @returns the moment from which only the service itself prevents answers (`performance.now()`); undefined:
   *   from the beginning
   */
  inflict(random: Random, last: Last, part: Part): Promise<number | undefined>
  /** Longest time that it may take. Default: 90 s. */
  readonly withinMs?: number
}

/** Names the part of a fault that comes now. */
export type Part = (name: string) => void

/** Lets a fault last, for about this many milliseconds; a watched one until it has been seen. */
export type Last = (ms: number) => Promise<void>

type Victim = (typeof VICTIMS)[number]

/** Names for people. */
const TITLES: Readonly<Record<Victim, string>> = {
  'ipid process,sink': 'worker',
  'ipid ingress': 'ingress',
  'redis-server': 'Redis',
  'embedded/clickhouse': 'ClickHouse',
}

/** For a service that runs its own stores: every process, alone and in pairs. */
export function faultsOfOwn({ instance, disk }: Own): Fault[] {
  return [
    ...VICTIMS.flatMap((victim) => [killed(instance, victim, 3), stopped(instance, victim, 2)]),
    {
      kind: 'two processes at once',
      weight: 5,
      async inflict(random, last) {
        const one = random.pick(VICTIMS)
        const other = random.pick(VICTIMS.filter((victim) => victim !== one))
        const over = await Promise.all([one, other].map((victim) => hit(instance, victim, random, last)))
        return over.sort((a = 0, b = 0) => b - a)[0]
      },
    },
    restarted(instance, 2),
    ...filled(disk, 'disk full', 4),
  ]
}

/** For a service with external stores: the network between them, and refusals of the stores. */
export function faultsOfProxied(service: Proxied, redis: Redis): Fault[] {
  const { instance, toRedis, toClickHouse, disk } = service
  const roles: Victim[] = ['ipid process,sink', 'ipid ingress']
  let second: SecondSet | undefined = service.second
  return [
    cutBefore(toRedis, 'Redis', 4),
    cutAfter(toRedis, 'Redis', 4),
    cutBefore(toClickHouse, 'ClickHouse', 2),
    cutAfter(toClickHouse, 'ClickHouse', 3),
    {
      kind: 'late answers of ClickHouse',
      weight: 2,
      async inflict(random, last) {
        toClickHouse.way = { answersLateByMs: random.between(500, 3_000) }
        await last(random.between(1_000, 3_000))
        toClickHouse.way = 'through'
        return performance.now()
      },
    },
    {
      kind: 'Redis at its memory limit',
      weight: 2,
      async inflict(random, last) {
        const used = Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))![1])
        await redis.config('SET', 'maxmemory', used + 100_000)
        await last(random.between(500, 3_000))
        const over = performance.now()
        await redis.config('SET', 'maxmemory', 0)
        return over
      },
    },
    {
      kind: 'consumers removed',
      weight: 1,
      async inflict() {
        for (let partition = 0; partition < Number(await redis.get(keys.partitions())); partition++) {
          await removeConsumers(redis, keys.stream(partition, ingest.steps[0]!.from, 'live'), ingest.steps[0]!.group)
        }
        return undefined
      },
    },
    {
      kind: 'second set of roles comes or goes',
      weight: 3,
      async inflict(random) {
        if (second === undefined) {
          second = await service.startSecondSet()
          return undefined
        }
        const ended = second
        second = undefined
        await ended.end(random.next() < 0.5 ? 'SIGTERM' : 'SIGKILL')
        return undefined
      },
    },
    ...filled(disk, 'disk of Redis full', 2),
    { kind: 'Redis down', weight: 1, inflict: (random, last) => downForAWhile(service.redis, random, 100, last) },
    {
      kind: 'ClickHouse down',
      weight: 1,
      inflict: (random, last) => downForAWhile(service.clickhouse, random, 100, last),
    },
    // Longer than the other set waits before it takes over.
    stopped(instance, 'ipid process,sink', 4),
    ...roles.map((victim) => killed(instance, victim, 1)),
    restarted(instance, 1),
  ]
}

/** For a service on a Redis Cluster. */
export function faultsOfClustered({ instance, nodes }: Clustered): Fault[] {
  const master = async (random: Random) => {
    const found = []
    for (const node of nodes) if (await node.isMaster()) found.push(node)
    return random.pick(found)
  }
  return [
    {
      kind: 'master of the cluster killed',
      weight: 4,
      inflict: async (random, last) => downForAWhile(await master(random), random, 50, last),
    },
    {
      kind: 'master of the cluster stopped',
      weight: 2,
      async inflict(random, last) {
        const node = await master(random)
        node.signal('SIGSTOP')
        await last(random.between(200, 3_000))
        node.signal('SIGCONT')
        return performance.now()
      },
    },
    {
      kind: 'replica takes over',
      weight: 2,
      async inflict(random) {
        const replicas = []
        for (const node of nodes) if (!(await node.isMaster())) replicas.push(node)
        const next = random.pick(replicas)
        await next.client.call('CLUSTER', 'FAILOVER')
        return undefined
      },
    },
    killed(instance, 'ipid process,sink', 1),
    killed(instance, 'ipid ingress', 1),
    restarted(instance, 1),
  ]
}

/** For a service whose Redis Sentinel watches: every way in which a server stops being the master. */
export function faultsOfWatched({ instance, set }: Watched): Fault[] {
  const failOver = (kind: string, weight: number, begin: Step, end: Step): Fault => ({
    kind,
    weight,
    async inflict(random, last) {
      const old = await set.whole()
      await begin(old)
      await set.nextMaster(old)
      const over = performance.now()
      await last(random.between(0, 3_000))
      await end(old)
      return over
    },
  })
  return [
    failOver(
      'master killed, another takes over',
      3,
      (old) => old.kill(),
      (old) => old.restart(),
    ),
    failOver(
      'master paused, another takes over',
      3,
      (old) => old.signal('SIGSTOP'),
      (old) => old.signal('SIGCONT'),
    ),
    failOver(
      'master cut off, another takes over',
      3,
      (old) => old.isolate(),
      (old) => old.rejoin(),
    ),
    {
      kind: 'master demoted by an operator',
      weight: 3,
      async inflict() {
        await set.handOver()
        return performance.now()
      },
    },
    killed(instance, 'ipid process,sink', 1),
    killed(instance, 'ipid ingress', 1),
    restarted(instance, 1),
  ]
}

type Step = (old: SentinelNode) => Promise<void> | void

/** None where no disk could be mounted. */
function filled(disk: SmallDisk | undefined, kind: string, weight: number): Fault[] {
  if (disk === undefined) return []
  const inflict = async (random: Random, last: Last) => {
    await disk.fill()
    await last(random.between(500, 3_000))
    await disk.empty()
    return performance.now()
  }
  return [{ kind, weight, inflict }]
}

function killed(instance: TestInstance, victim: Victim, weight: number): Fault {
  return {
    kind: `${TITLES[victim]} killed`,
    weight,
    async inflict() {
      instance.kill(victim)
      return undefined
    },
  }
}

function stopped(instance: TestInstance, victim: Victim, weight: number): Fault {
  return {
    kind: `${TITLES[victim]} stopped`,
    weight,
    inflict: (random, last) => stopForAWhile(instance, victim, random, last),
  }
}

function restarted(instance: TestInstance, weight: number): Fault {
  return {
    kind: 'main killed, started again',
    weight,
    async inflict() {
      await instance.restart()
      return undefined
    },
  }
}

async function hit(instance: TestInstance, victim: Victim, random: Random, last: Last): Promise<number | undefined> {
  if (random.next() >= 0.6) return await stopForAWhile(instance, victim, random, last)
  instance.kill(victim)
  return undefined
}

async function stopForAWhile(instance: TestInstance, victim: Victim, random: Random, last: Last): Promise<number> {
  const lengthMs = random.between(200, 4_000)
  const pid = instance.kill(victim, 'SIGSTOP')
  await last(lengthMs)
  try {
    process.kill(pid, 'SIGCONT')
  } catch (error) {
    // Its supervisor may have ended it.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
  return performance.now()
}

async function downForAWhile(
  store: { kill(): Promise<void>; restart(): Promise<void> },
  random: Random,
  leastMs: number,
  last: Last,
): Promise<number> {
  await store.kill()
  await last(random.between(leastMs, 2_000))
  const over = performance.now()
  await store.restart()
  return over
}

function cutBefore(proxy: CuttingProxy, to: string, weight: number): Fault {
  return cut(proxy, `connections to ${to} cut before the command ran`, 'requests are lost', weight)
}

function cutAfter(proxy: CuttingProxy, to: string, weight: number): Fault {
  return cut(proxy, `connections to ${to} cut after the command ran`, 'answers are lost', weight)
}

function cut(proxy: CuttingProxy, kind: string, way: CuttingProxy['way'], weight: number): Fault {
  return {
    kind,
    weight,
    async inflict(random, last) {
      proxy.way = way
      await last(random.between(0, 300))
      proxy.cut()
      proxy.way = 'through'
      return performance.now()
    },
  }
}

/** Only empty ones: Redis forgets the deliveries of a consumer with it. */
async function removeConsumers(redis: Redis, stream: string, group: string): Promise<void> {
  await redis.eval(
    `for _, info in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])) do
       if info[4] == 0 then redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], info[2]) end
     end`,
    1,
    stream,
    group,
  )
}
