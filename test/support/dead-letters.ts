import type { TestContext } from 'node:test'
import { ingest } from '../../pipelines/ingest.ts'
import { OUTCOME_COLUMNS } from '../../schemas/outcome.ts'
import { DeadLetters, type LetterFilter, type StoredLetter } from '../../src/operations/dead-letters/dead-letters.ts'
import type { Pipeline } from '../../src/pipeline/declaration/pipeline.ts'
import type { Stage } from '../../src/pipeline/declaration/stage.ts'
import { decodeBlock, packBlock } from '../../src/pipeline/event/block.ts'
import type { Enricher } from '../../src/pipeline/event/enrichment.ts'
import type { Envelope } from '../../src/pipeline/event/envelope.ts'
import { columnOf } from '../../src/pipeline/event/row.ts'
import { deadLetterFields } from '../../src/pipeline/streams/dead-letter.ts'
import type { RawEntry } from '../../src/pipeline/streams/entries.ts'
import { waitingEvents } from '../../src/pipeline/streams/status.ts'
import { agreeOnPartitions, createGroups } from '../../src/pipeline/streams/topology.ts'
import { connectRedis, type RedisClient } from '../../src/stores/redis/connect.ts'
import { counterFields, keys } from '../../src/stores/redis/keys.ts'
import { quiet, startIntake } from './pipeline.ts'
import { startTestRedis } from './redis.ts'
import { until } from './until.ts'

export const DAY_MS = 86_400_000
/** Live events are enriched already. */
export const NO_ENRICHER = {} as Enricher

/** The default pipeline, with a stage that throws for events as long as `fails` says so. */
export function poisonedPipeline() {
  const state = { fails: true }
  const poison: Stage = {
    name: 'poison',
    decide(block) {
      if (state.fails && columnOf(block, 'event_id').some((id) => id.startsWith('bad'))) throw new Error('poisoned')
      return {}
    },
  }
  const [step] = ingest.steps
  const pipeline: Pipeline = { ...ingest, steps: [{ ...step!, stages: [poison, ...step!.stages] }] }
  return { pipeline, state }
}

export async function startDeadLetters(t: TestContext, pipeline: Pipeline = ingest, partitions = 1) {
  const redis = await startTestRedis(t)
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop' }))
  t.after(() => client.disconnect())
  await agreeOnPartitions(client, partitions)
  await createGroups(client, pipeline, partitions)
  const { intake, stop } = startIntake(redis.url, partitions)
  t.after(stop)
  const letters = new DeadLetters(client, pipeline, partitions)
  const all = async (filter: LetterFilter = {}) => {
    const found: StoredLetter[] = []
    for await (const letter of letters.letters(filter, 'oldest first')) found.push(letter)
    return found
  }
  return { redis, client, intake, letters, all }
}

/** Ids of the events that the steps kept, in order. */
export async function keptIds(client: RedisClient): Promise<string[]> {
  const entries = (await client.callBuffer('XRANGE', keys.stream(0, 'enriched', 'live'), '-', '+')) as [
    Buffer,
    Buffer[],
  ][]
  return entries.flatMap(([, fields]) => columnOf(decodeBlock(fields), 'event_id'))
}

/** Numbers of events that are not stored, by status, as sent to `outcomes`. */
export async function outcomeSums(client: RedisClient): Promise<Record<string, number>> {
  const entries = (await client.callBuffer('XRANGE', keys.stream(0, 'outcomes', 'live'), '-', '+')) as RawEntry[]
  const sums: Record<string, number> = {}
  for (const row of entries.flatMap(([, fields]) => decodeBlock(fields!).rows.toString().trimEnd().split('\n'))) {
    const columns = row.split('\t')
    const [status, events] = (['status', 'events'] as const).map((name) => columns[OUTCOME_COLUMNS.indexOf(name)]!)
    sums[status!] = (sums[status!] ?? 0) + Number(events)
  }
  return sums
}

export const counter = async (client: RedisClient, name: string) =>
  Number((await client.hget(keys.counters(0), counterFields.outcome(...(name.split(':') as [string, string])))) ?? 0)
export const nothingWaits = (client: RedisClient, pipeline: Pipeline) =>
  until(async () => (await waitingEvents(client, pipeline, 1, { groups: ['process'] })) === 0)

/** Writes a letter as a group would. @param claimId undefined: it has a twin that is kept */
export async function writeLetter(
  client: RedisClient,
  event: Envelope,
  claimId: Buffer | undefined,
  at = { group: 'process', stream: 'intake' },
) {
  const origin = { ...at, lane: 'live' as const, claimId }
  await client.call(
    'XADD',
    keys.dead(0),
    '*',
    ...deadLetterFields(origin, { reason: 'test', block: packBlock([event]), outcome: undefined }),
  )
}
