import type { Logger } from 'pino'
import type { Config } from '../../config/config.ts'
import { shown } from '../../config/values.ts'
import { causeWithRemedy } from '../../run/cause-text.ts'
import { pause } from '../../run/loop.ts'
import { PASSING } from '../../run/passing.ts'
import { connectClickHouse } from '../../stores/clickhouse/client.ts'
import { readingRedis } from '../../terminal/stores.ts'

/** A store that the user runs, and that may not answer. */
interface AwaitedStore {
  readonly name: string
  /** The setting that holds its address. */
  readonly setting: string
  readonly url: string
  /** Sends it a small query. Rejects with the reason when no answer comes within `PROBE_MS`. */
  readonly probe: () => Promise<unknown>
}

const PROBE_MS = 2_000
/** Time before the first message, for stores that start together with this process. */
const QUIET_MS = 1_000
const PROBE_EVERY_MS = 500
const SAY_EVERY_MS = 10_000

/** The stores that ipid does not run itself. */
export function awaitedStores({ redisUrl, clickhouseUrl }: Config): AwaitedStore[] {
  const stores: AwaitedStore[] = []
  if (redisUrl !== undefined) {
    const probe = () => readingRedis(redisUrl, (client) => client.ping(), { connectMs: PROBE_MS })
    stores.push({ name: 'Redis', setting: 'REDIS_URL', url: redisUrl, probe })
  }
  if (clickhouseUrl !== undefined) {
    const probe = () => askClickHouse(clickhouseUrl)
    stores.push({ name: 'ClickHouse', setting: 'CLICKHOUSE_URL', url: clickhouseUrl, probe })
  }
  return stores
}

/**
 * Logs the address and the cause while a store does not answer: first within 4 s, then every 10 s. Resolves when all stores
 * answer, or `signal` is aborted.
 */
export async function warnOfAwaitedStores(
  stores: readonly AwaitedStore[],
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  await Promise.all(stores.map((store) => watch(store, log, signal)))
}

async function watch({ name, setting, url, probe }: AwaitedStore, log: Logger, signal: AbortSignal): Promise<void> {
  const where = `${name} at ${shownPlain(url)} (${setting})`
  const startedMs = performance.now()
  let sayAtMs = startedMs + QUIET_MS
  let hasWarned = false
  while (!signal.aborted) {
    const cause = await probe().then(() => undefined, causeWithRemedy)
    if (signal.aborted) return
    if (cause === undefined) {
      if (hasWarned) log.info(`${where} answers`)
      return
    }
    if (performance.now() >= sayAtMs) {
      const waitedSeconds = Math.round((performance.now() - startedMs) / 1_000)
      log.warn({ waited_s: waitedSeconds, ...PASSING }, `waiting for ${where}: ${cause}`)
      hasWarned = true
      sayAtMs = performance.now() + SAY_EVERY_MS
    }
    await pause(PROBE_EVERY_MS, signal)
  }
}

async function askClickHouse(url: string): Promise<void> {
  const client = connectClickHouse(url, { application: 'start', requestTimeoutMs: PROBE_MS, connectionsMax: 1 })
  try {
    await (await client.query({ query: 'SELECT 1' })).text()
  } finally {
    await client.close()
  }
}

function shownPlain(url: string): string {
  return JSON.parse(shown(url)) as string
}
