import { isDeepStrictEqual } from 'node:util'
import { ingest } from '../../../pipelines/ingest.ts'
import type { BatchJob } from '../../../schemas/api/batch.ts'
import { readStatus } from '../../../src/pipeline/streams/status.ts'
import { connectRedis, type RedisClient } from '../../../src/stores/redis/connect.ts'
import { fetchClickHouse } from '../../support/fetch-clickhouse.ts'
import { until } from '../../support/until.ts'
import { compareTables, note, type Query, type Verdict } from './compare.ts'
import type { Ledger } from './ledger.ts'

const SETTLED_WITHIN_MS = 180_000

/** Addresses of the stores to judge. They are asked without any proxy. */
interface Judged {
  readonly url: string
  readonly redisUrl: string
  readonly clickhouseUrl: string
}

/** Waits until everything is stored, and compares jobs, tables and the rest in Redis with the sent events. */
export async function judgeStored(
  { url, redisUrl, clickhouseUrl }: Judged,
  ledgers: readonly Ledger[],
): Promise<Verdict> {
  const total: Verdict = { stored: 0, lost: 0, doubled: 0, wrong: 0, examples: [] }
  const redis = connectRedis(redisUrl, { name: 'judge', kind: 'loop' })
  redis.on('error', () => {})
  try {
    for (const ledger of ledgers) await compareJobs(ledger, url, total)
    await settled(redis, total)
    const query: Query = (sql) =>
      until(
        () => ask(clickhouseUrl, sql),
        (text) => text !== undefined,
      )
    let stored = 0
    for (const ledger of ledgers) {
      const verdict = await compareTables(ledger, query)
      for (const kind of ['lost', 'doubled', 'wrong'] as const) total[kind] += verdict[kind]
      total.examples.push(...verdict.examples)
      stored += verdict.stored
    }
    return { ...total, stored }
  } finally {
    redis.disconnect()
  }
}

async function ask(url: string, sql: string): Promise<string | undefined> {
  const answer = await fetchClickHouse(url, { database: 'ipid' }, { body: sql })
  if (answer.ok) return await answer.text()
  throw new Error(await answer.text())
}

/** Every upload that was answered ends with exact counts. */
async function compareJobs({ tenantId, apiKey, jobs }: Ledger, url: string, verdict: Verdict): Promise<void> {
  const headers = { 'x-api-key': apiKey }
  for (const { id, expected } of jobs) {
    const read = async () => (await (await fetch(`${url}/v1/ingest/batch/${id}`, { headers })).json()) as BatchJob
    const ended = ({ status }: BatchJob) => status === 'completed' || status === 'failed'
    const job = await until(read, ended, SETTLED_WITHIN_MS).catch(() => undefined)
    const { errors, rejected_reasons: _, filtered_reasons: reasons, ...counts } = { ...job?.result_summary }
    delete counts.warning
    // Versions up to 0.2.0 give no reasons.
    const withReason = Object.values(reasons ?? { any: expected.filtered }).reduce((sum, events) => sum + events, 0)
    const isExact = isDeepStrictEqual(counts, expected) && withReason === expected.filtered
    if (isExact && errors?.length === 0) continue
    note(verdict, 'wrong', `${tenantId}: job ${id} is ${job?.status}, ${JSON.stringify(job?.result_summary)}`)
  }
}

/** Queues are empty, nothing is dead, and nothing is left. */
async function settled(redis: RedisClient, verdict: Verdict): Promise<void> {
  const state = () => readStatus(redis, ingest)
  const idle = await until(
    state,
    ({ streams }) => streams.length > 0 && streams.every(({ waiting_events }) => waiting_events === 0),
    SETTLED_WITHIN_MS,
  ).catch((error: Error) => error)
  if (idle instanceof Error) note(verdict, 'wrong', `something still waits: ${idle.message}`)
  const left = await until(
    () => leftKeys(redis),
    (names) => names.length === 0,
    SETTLED_WITHIN_MS / 6,
  ).catch(() => leftKeys(redis))
  for (const name of left) note(verdict, 'wrong', `${name} is left in Redis`)
}

/** Chunks and progress of ended jobs, intents of sinks, dead letters. */
async function leftKeys(redis: RedisClient): Promise<string[]> {
  const nodes = 'nodes' in redis ? redis.nodes('master') : [redis]
  const names = (await Promise.all(nodes.map((node) => node.keys('*')))).flat()
  const left = names.filter((name) => /:(chunks|upload|intent|dead)$|^\{p\d+\}:job:/.test(name))
  // A stream stays when its last entry is deleted.
  const lengths = await Promise.all(left.map((name) => (name.endsWith(':dead') ? redis.xlen(name) : 1)))
  return left.filter((_, i) => lengths[i]! > 0)
}
