import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { type Instance, startInstance } from '../support/instance.ts'
import { Accounting, COMPILER } from './accounting.ts'
import type { Releases } from './releases.ts'
import type { Figures } from './scenario.ts'

/** The product under measurement, as `npm start` runs it. */
export interface Product extends Instance {
  accounting(): Accounting
  redis(): Promise<RedisState>
  /** Waits until its processes are idle, for example after a start or a load. */
  idle(): Promise<void>
  /** Number of events in the table. ClickHouse knows it without reading them. */
  stored(): Promise<number>
  /** Waits until at least this many events are stored. */
  untilStored(least: number): Promise<void>
}

/** Sizes of its Redis, bytes. */
interface RedisState {
  readonly memory: number
  readonly file: number
  /** Number of rewrites of the append-only file. File sizes before and after a rewrite are not comparable. */
  readonly rewrites: number
}

/** CPU of all processes together, as a share of a core, that counts as idle. */
const IDLE_CORE_SHARE = 0.06
const IDLE_LOOK_MS = 500
const IDLE_WITHIN_MS = 120_000
/** After this time all processes have begun to load compiled data: they poll every 4 s, and load after two equal polls. */
const LOADED_MS = 8_000
const STORED_WITHIN_MS = 600_000
/** A poll is a statement that costs ClickHouse as much as hundreds of rows, so polls are rare until the last rows are due. */
const STORED_LOOK_MS = { min: 20, max: 250 }
const STORED_LOOKS = 8

/** @param root checkout to run */
export async function startProduct(
  root: string,
  settings: Readonly<Record<string, string>>,
  releases: Releases,
): Promise<Product> {
  const instance = await startInstance(
    { LOG_LEVEL: 'error', ...settings },
    { root, onLaunch: (stop) => void releases.add(stop) },
  )
  const redis = new Redis({ path: instance.redisUrl.replace('unix://', '') })
  redis.on('error', () => {})
  releases.add(async () => redis.disconnect())
  return {
    ...instance,
    accounting: () => new Accounting(instance.pid),
    redis: () => redisState(redis),
    idle: () => idle(instance.pid),
    stored: () => stored(instance),
    untilStored: (least) => untilStored(instance, least),
  }
}

/** Growth of Redis per event between two states. @param events number of events in between */
export function redisFigures(before: RedisState, after: RedisState, events: number): Figures {
  const figures: Figures = { 'redis memory B/event': (after.memory - before.memory) / events }
  if (after.rewrites === before.rewrites) figures['redis file B/event'] = (after.file - before.file) / events
  return figures
}

/** CPU of each process per event. @param events number of events */
export function cpuFigures(accounting: Accounting, events: number, loaderSeconds?: number): Figures {
  const own = [...accounting.cpu()]
  const together = own.reduce((sum, [, seconds]) => sum + seconds, 0)
  const cpu = [
    ...own,
    ['together', together] as const,
    ...(loaderSeconds === undefined ? [] : [['loader', loaderSeconds] as const]),
  ]
  return Object.fromEntries(cpu.map(([name, seconds]) => [`cpu ${name} µs/event`, (seconds * 1e6) / events]))
}

export function peakFigures(accounting: Accounting): Figures {
  return Object.fromEntries([...accounting.peakMb()].map(([name, mb]) => [`peak ${name} MB`, mb]))
}

async function redisState(redis: Redis): Promise<RedisState> {
  const text = await redis.info('everything')
  const number = (field: string) => Number(new RegExp(`^${field}:(\\d+)`, 'm').exec(text)?.[1] ?? Number.NaN)
  return { memory: number('used_memory'), file: number('aof_current_size'), rewrites: number('aof_rewrites') }
}

async function idle(pid: number): Promise<void> {
  const deadline = performance.now() + IDLE_WITHIN_MS
  let quietForMs = 0
  let enoughMs = IDLE_LOOK_MS
  while (performance.now() < deadline && quietForMs < enoughMs) {
    const accounting = new Accounting(pid)
    await sleep(IDLE_LOOK_MS)
    const cpu = accounting.cpu()
    const used = [...cpu.values()].reduce((sum, seconds) => sum + seconds, 0)
    if (cpu.has(COMPILER)) enoughMs = LOADED_MS
    const isQuiet = used / accounting.seconds < IDLE_CORE_SHARE && !cpu.has(COMPILER)
    quietForMs = isQuiet ? quietForMs + IDLE_LOOK_MS : 0
  }
}

async function stored(instance: Instance): Promise<number> {
  return Number(await instance.query('SELECT count() FROM events'))
}

async function untilStored(instance: Instance, least: number): Promise<void> {
  const beganMs = performance.now()
  let first: number | undefined
  for (;;) {
    const count = await stored(instance)
    if (count >= least) return
    const tookMs = performance.now() - beganMs
    if (tookMs > STORED_WITHIN_MS) throw new Error(`${count} events stored instead of ${least}`)
    first ??= count
    const leftMs = count === first ? 0 : (tookMs * (least - count)) / (count - first)
    await sleep(Math.min(STORED_LOOK_MS.max, Math.max(STORED_LOOK_MS.min, leftMs / STORED_LOOKS)))
  }
}
