import { OUTCOME_STATUS } from '../../../schemas/outcome.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { counterFields, keys, progressFields } from '../../stores/redis/keys.ts'
import { type Block, commitAt, countingJob, encodeBlock, selectEvents } from '../event/block.ts'
import { BlockOutcomes, packOutcomes } from '../event/outcomes.ts'
import type { RefusedEvent, SinkEntry, SinkRun, SinkStream } from '../runner/sink-ports.ts'
import { deadLetterFields } from './dead-letter.ts'
import { outcomeSource } from './entries.ts'
import { SettlementWriter } from './settlement-writer.ts'

/** Redis' Lua takes a few thousand arguments at once. */
const ACK_IDS_MAX = 1_000

/** What is settled for a sink, see `SinkStreamsOptions`. */
export interface SinkSettling {
  readonly client: RedisClient
  readonly group: string
  readonly from: string
  readonly completesJobs: boolean
  readonly outcomesTo: string | undefined
}

/** Acknowledges the entries of a run, as `SinkSource` has it. */
export async function settleRun(of: SinkSettling, run: SinkRun, refused: readonly RefusedEvent[]): Promise<void> {
  for (let at = 0; at < run.entries.length; at += ACK_IDS_MAX) {
    await settle(of, run, run.entries.slice(at, at + ACK_IDS_MAX), refused)
  }
}

async function settle(
  of: SinkSettling,
  stream: SinkStream,
  entries: readonly SinkEntry[],
  refused: readonly RefusedEvent[],
): Promise<void> {
  const { client, group, from, completesJobs } = of
  const { partition, lane } = stream
  const writer = new SettlementWriter(keys.stream(partition, from, lane), keys.counters(partition))
  const dead = refused.filter((event) => entries.includes(event.entry))
  const events = entries.reduce((sum, entry) => sum + entry.block.count, 0)
  writer.count(counterFields.done(group, from, lane, 'entries'), entries.length)
  writer.count(counterFields.done(group, from, lane, 'events'), events)
  writer.count(counterFields.outcome(group, 'stored'), events - dead.length)
  if (dead.length > 0) writer.count(counterFields.outcome(group, 'dead'), dead.length)
  const progress = (block: Block, field: string, by: number) => {
    const job = countingJob(block)
    if (completesJobs && job !== undefined) writer.progress(keys.jobProgress(partition, job), field, by)
  }
  for (const { block } of entries) progress(block, progressFields.stored, block.count)
  const outcomes = countRefused(of, writer, stream, dead)
  for (const event of dead) {
    const { entry, index, reason } = event
    const block = selectEvents(entry.block, [index])
    progress(entry.block, progressFields.stored, -1)
    progress(entry.block, progressFields.dead, 1)
    const origin = { group, stream: from, lane, owner: entry.owner }
    writer.add(keys.dead(partition), deadLetterFields(origin, { reason, block, outcome: outcomes.get(event) }))
  }
  await writer.run(
    client,
    group,
    entries.map((entry) => entry.id),
  )
}

/** Counts refused events as dead. Returns the keys under which they are counted. */
function countRefused(
  { group, outcomesTo }: SinkSettling,
  writer: SettlementWriter,
  { partition, lane }: SinkStream,
  refused: readonly RefusedEvent[],
): Map<RefusedEvent, string | undefined> {
  const keyOf = new Map<RefusedEvent, string | undefined>()
  if (outcomesTo === undefined || refused.length === 0) return keyOf
  const bySource = new Map<string, BlockOutcomes>()
  for (const event of refused) {
    const { entry, index } = event
    const source = outcomeSource(group, { ...entry, partition, lane }, commitAt(entry.block, index))
    const outcomes = bySource.get(source) ?? new BlockOutcomes()
    keyOf.set(event, outcomes.add(entry.block, index, OUTCOME_STATUS.dead, group))
    bySource.set(source, outcomes)
  }
  const block = packOutcomes([...bySource].map(([source, { counts }]) => [source, counts] as const))
  writer.add(keys.stream(partition, outcomesTo, lane), encodeBlock(block))
  writer.count(counterFields.added(outcomesTo, lane, 'entries'), 1)
  writer.count(counterFields.added(outcomesTo, lane, 'events'), block.count)
  return keyOf
}
