import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import type { Releases } from '../../../bench/run/releases.ts'
import { DEFAULT_PLANS } from '../../../schemas/plans.ts'
import type { Random } from '../../../src/run/random.ts'
import { connectRedis } from '../../../src/stores/redis/connect.ts'
import { tenantAdmin, withRedis } from '../../../src/terminal/stores.ts'
import { CleanUp } from './clean-up.ts'
import { type ClientRow, ClientView, clientRows, NO_FAULT } from './client-view.ts'
import { note, type Verdict } from './compare.ts'
import {
  type Fault,
  faultsOfClustered,
  faultsOfOwn,
  faultsOfProxied,
  faultsOfWatched,
  type Last,
  type Part,
} from './faults.ts'
import { judgeStored } from './judge.ts'
import { Ledger } from './ledger.ts'
import { Load } from './load.ts'
import { faultsOfMachines, startMachines } from './machines.ts'
import { Probe } from './probe.ts'
import { type Surroundings, startClustered, startOwn, startProxied, startWatched } from './services.ts'
import { type Seen, Watch } from './watch.ts'

/**
 * `own`: its own stores, like `npm start`; `proxied`: external stores behind proxies; `cluster`: a Redis Cluster; `sentinel`: a Redis that
 * Sentinel watches; `machines`: three ingresses and three workers of their own, a Redis Cluster of six, two shards of ClickHouse.
 */
export const PHASES = ['own', 'proxied', 'cluster', 'sentinel', 'machines'] as const
export type PhaseName = (typeof PHASES)[number]

export interface InflictedFault {
  readonly phase: PhaseName
  readonly kind: string
  /**
   * Milliseconds from the moment when only the service itself prevents answers, to the first 200 for a request
   * that was sent after it; undefined: none came.
   */
  readonly goodAgainMs: number | undefined
  /** Only of a watched one. */
  readonly seen?: Seen
}

export interface PhaseReport {
  readonly faults: readonly InflictedFault[]
  readonly clients: readonly ClientRow[]
  readonly verdict: Verdict
}

export interface PhaseOptions {
  readonly seconds: number
  readonly random: Random
  /** Inflicts every fault once, for as long as status and alerts take to see it. In `machines`, nothing watches. */
  readonly isWatched?: boolean
  /** Requests per second of a tenant; default: 15. */
  readonly rate?: number
  /** Kinds to inflict once each, in this order, in place of random ones. */
  readonly kinds?: readonly string[]
  readonly say: (text: string) => void
}

const LIVE_RATE = 15
const GOOD_WITHIN_MS = 60_000
const FAULT_WITHIN_MS = 90_000

/**
 * Starts a service, loads it, injects faults, and compares the stored events with the sent ones.
 * @param whole ends everything this run started, when the run is interrupted
 */
export async function runPhase(phase: PhaseName, options: PhaseOptions, whole: Releases): Promise<PhaseReport> {
  const cleanUp = new CleanUp()
  const release = whole.add(() => cleanUp.releaseAll())
  try {
    const { service, faults } = await start(phase, cleanUp)
    const watch = options.isWatched && service.instance ? await Watch.start(service.instance, cleanUp) : undefined
    return await faultsUnderLoad(phase, service, faults, options, watch)
  } finally {
    await release()
  }
}

async function start(phase: PhaseName, cleanUp: CleanUp): Promise<{ service: Surroundings; faults: Fault[] }> {
  if (phase === 'own') {
    const service = await startOwn(cleanUp)
    return { service, faults: faultsOfOwn(service) }
  }
  if (phase === 'proxied') {
    const service = await startProxied(cleanUp)
    const redis = connectRedis(service.redisUrl, { name: 'faults', kind: 'loop' }) as Redis
    redis.on('error', () => {})
    cleanUp.after(() => redis.disconnect())
    return { service, faults: faultsOfProxied(service, redis) }
  }
  if (phase === 'machines') {
    const service = await startMachines(cleanUp)
    return { service, faults: faultsOfMachines(service) }
  }
  if (phase === 'sentinel') {
    const service = await startWatched(cleanUp)
    return { service, faults: faultsOfWatched(service) }
  }
  const service = await startClustered(cleanUp)
  return { service, faults: faultsOfClustered(service) }
}

async function faultsUnderLoad(
  phase: PhaseName,
  service: Surroundings,
  faults: readonly Fault[],
  { seconds, random, say, isWatched, kinds, rate = LIVE_RATE }: PhaseOptions,
  watch: Watch | undefined,
): Promise<PhaseReport> {
  const { urls } = service
  const view = new ClientView()
  const ledgers = await tenants(service)
  const loads = ledgers.map((ledger) => new Load({ urls, ledger, random: random.fork(), rate, view }))
  const probe = new Probe(urls, ledgers[0]!)
  const running = [
    probe.run(),
    ...loads.flatMap((load, i) => (i === 0 ? [load.sendLive()] : [load.sendLive(), load.upload()])),
  ]
  const inflicted: InflictedFault[] = []
  await probe.nextGood(performance.now(), GOOD_WITHIN_MS)
  const endMs = performance.now() + seconds * 1_000
  const inTurn = kinds?.map((kind) => named(faults, kind)) ?? (isWatched ? [...faults] : undefined)
  for (;;) {
    const fault = inTurn === undefined ? drawn(faults, random) : inTurn.shift()
    if (fault === undefined || (inTurn === undefined && performance.now() >= endMs)) break
    const beganMs = performance.now()
    let goodAgain = Promise.resolve<number | undefined>(undefined)
    let seen: Seen | undefined
    try {
      const inflict = async (last: Last) => {
        view.during(fault.kind)
        const fromMs = await inflictOne(fault, random, last, (part) => view.during(`${fault.kind}: ${part}`))
        // A watched fault is looked at for longer than the probe remembers.
        goodAgain = probe.nextGood(fromMs ?? beganMs, GOOD_WITHIN_MS)
      }
      if (watch === undefined) await inflict(sleep)
      else seen = await watch.of(inflict)
    } catch (error) {
      say(`${phase}: ${fault.kind}: not now, ${(error as Error).message}`)
      view.during(NO_FAULT)
      if (kinds === undefined) continue
      probe.stop()
      for (const load of loads) load.abandon()
      throw error
    }
    const goodAgainMs = await goodAgain
    view.during(NO_FAULT)
    const good = goodAgainMs === undefined ? 'no 200 any more' : `200 after ${Math.round(goodAgainMs)} ms`
    say(`${phase}: ${fault.kind}: ${good}${seen === undefined ? '' : `; ${JSON.stringify(seen)}`}`)
    inflicted.push({ phase, kind: fault.kind, goodAgainMs, ...(seen && { seen }) })
    await sleep(random.between(200, 2_500))
  }
  for (const part of [probe, ...loads]) part.stop()
  await Promise.all(running)
  return { faults: inflicted, clients: clientRows(view), verdict: await judge(service, ledgers, say) }
}

function named(faults: readonly Fault[], kind: string): Fault {
  const found = faults.find((fault) => fault.kind === kind)
  if (found === undefined) throw new Error(`no fault is named ${kind}`)
  return found
}

async function inflictOne(fault: Fault, random: Random, last: Last, part: Part): Promise<number | undefined> {
  const over = new AbortController()
  const late = sleep(fault.withinMs ?? FAULT_WITHIN_MS, undefined, { signal: over.signal }).then(() => {
    throw new Error('it does not end')
  })
  late.catch(() => {})
  try {
    return await Promise.race([late, fault.inflict(random, last, part)])
  } finally {
    over.abort()
  }
}

function drawn(faults: readonly Fault[], random: Random): Fault {
  let left = random.between(
    0,
    faults.reduce((sum, { weight }) => sum + weight, 0),
  )
  for (const fault of faults) {
    left -= fault.weight
    if (left < 0) return fault
  }
  return faults.at(-1)!
}

/** The first with live events only, the second and third with uploads besides. */
async function tenants({ apiKey, redisUrl }: Surroundings): Promise<Ledger[]> {
  const plans = new Map(Object.entries(DEFAULT_PLANS))
  return await withRedis(redisUrl, async (client) => {
    const admin = tenantAdmin(client, { plans })
    const ledgerOf = async (id: string, apiKey: string) =>
      new Ledger(id, apiKey, (await admin.createSource(id, { kind: 'http', address: 'payload' })).key)
    const ledgers = apiKey === undefined ? [] : [await ledgerOf('demo', apiKey)]
    for (const name of apiKey === undefined ? ['demo', 'acme', 'umbrella'] : ['acme', 'umbrella']) {
      const { id } = await admin.createTenant(name, { plan: 'custom' })
      ledgers.push(await ledgerOf(id, (await admin.createKey(id)).key))
    }
    return ledgers
  })
}

async function judge(service: Surroundings, ledgers: readonly Ledger[], say: PhaseOptions['say']): Promise<Verdict> {
  const { urls, redisUrl, clickhouseUrl } = service
  say('the load has ended; waiting until all is stored')
  const verdict = await judgeStored({ url: urls()[0]!, redisUrl, clickhouseUrl }, ledgers)
  for (const text of await service.stop()) note(verdict, 'wrong', text)
  return verdict
}
