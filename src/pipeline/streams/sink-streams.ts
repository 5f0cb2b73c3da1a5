import { Cluster, type Redis } from 'ioredis'
import type { Logger } from 'pino'
import { pause, untilTick } from '../../run/loop.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { assertSameConnection, lossesOf } from '../../stores/redis/connection-losses.ts'
import { persisted } from '../../stores/redis/durability/persisted.ts'
import { replyCode } from '../../stores/redis/errors.ts'
import { keys } from '../../stores/redis/keys.ts'
import { LEASE_MS, Membership, type MembershipOptions, type ShareLease } from '../../stores/redis/membership.ts'
import { mastersOf } from '../../stores/redis/nodes.ts'
import { type Caller, pipelinedCalls } from '../../stores/redis/pipelined-calls.ts'
import { LANES, type Lane } from '../declaration/lane.ts'
import type {
  IntentRest,
  RefusedEvent,
  SinkEntry,
  SinkIntent,
  SinkRun,
  SinkSource,
  SinkStream,
} from '../runner/sink-ports.ts'
import { readBlocking } from './blocking-read.ts'
import { brokenEntryFields } from './dead-letter.ts'
import { type RawEntry, type RawStreams, readEntry } from './entries.ts'
import { bury, passOver, settleRun } from './settlement.ts'

export interface SinkStreamsOptions {
  /** For blocking reads only; not shared. */
  readonly blocking: RedisClient
  readonly client: RedisClient
  /** For the lease. Default: `client`. */
  readonly leases?: Caller
  readonly cluster: boolean
  readonly partitions: number
  /** Reads the partitions whose number modulo `of` is the share's number. Default: all. */
  readonly share?: ShareLease | undefined
  readonly group: string
  readonly from: string
  readonly log: Logger
  /** Whether an event that is stored here counts as finished for its batch job. */
  readonly completesJobs: boolean
  /** The stream for outcomes of refused events; undefined: none. */
  readonly outcomesTo: string | undefined
  readonly ensureGroups: () => Promise<void>
  /** See `MembershipOptions`. */
  readonly processName?: string | undefined
  /** Maximum of new entries per read, over all streams. Default: estimated from the number of events that fit. */
  readonly readEntriesMax?: number
  /** How often to ask a Redis Cluster for new entries, milliseconds. Default: 25. */
  readonly clusterPollMs?: number
}

/** All processes of a sink read under one name, so that a new holder of the lease sees the last one's pending entries. */
const CONSUMER = 'sink'
const POLL_MS = 25
/** Redis checks for ended waits this often (`hz` 4), so a blocking read may end this much late. Shorter waits are done here. */
const BLOCK_MS_MIN = 250
/** A blocking read ends this long before the lease does. Otherwise Redis could deliver entries to a process that is paused. */
const BEFORE_LEASE_ENDS_MS = 2 * BLOCK_MS_MIN
/** Another process may wait for a share. */
const SHARED_BLOCK_MS_MAX = 500
const READ_ENTRIES_MIN = 8
const READ_ENTRIES_MAX = 1_000

/**
 * Reads a sink's stream from Redis: all partitions, or those of a share, as a consumer group that one process at a time reads. The lease
 * has the name of the group.
 */
export class SinkStreams implements SinkSource {
  readonly #options: SinkStreamsOptions
  readonly #lease: ShareLease
  readonly #intentKey: string
  readonly #redisRunIds: RedisRunIds
  /** `lossesOf` the client before the first read. */
  #losses: number
  /** The last wait found nothing, so the next read waits at once, on all streams in one call. */
  #isAtRest = false
  /** Running mean. Starts high, because a backlog may have large entries, and a read holds them in memory. */
  #eventsPerEntry = 1_000

  constructor(options: SinkStreamsOptions) {
    const { client, leases = client, group, share, processName, log } = options
    this.#options = options
    this.#lease = share ?? sinkMembership({ client: leases, group, processName, log }).share(0)
    this.#intentKey = intentKey(group, this.#lease.number, this.#lease.of)
    this.#redisRunIds = new RedisRunIds(client, this.#lease, group)
    this.#losses = lossesOf(client)
  }

  acquire(signal: AbortSignal, finish: (source: SinkSource) => Promise<void>): Promise<boolean> {
    this.#redisRunIds.forget()
    this.#losses = lossesOf(this.#options.client)
    return this.#lease.acquire(signal, (share) => finish(new SinkStreams({ ...this.#options, share })))
  }

  get isShared(): boolean {
    return this.#lease.of > 1
  }

  givesBack(): boolean {
    return this.#lease.givesBack()
  }

  release(): Promise<void> {
    return this.#lease.release()
  }

  async intent(): Promise<SinkIntent | undefined> {
    const text = await this.#options.client.get(this.#intentKey)
    // The process that wrote it may have ended before it was on disk.
    if (text !== null) await persisted(this.#options.client)
    return text === null ? undefined : (JSON.parse(text) as SinkIntent)
  }

  async writeIntent(intent: SinkIntent): Promise<void> {
    await this.#lease.write(this.#intentKey, JSON.stringify(intent))
    // If Redis lost the intent after the insert, the rows would look new.
    await persisted(this.#options.client)
    // The next master may lack an entry. Its sender got no answer, and sends the events again with a new claim.
    assertSameConnection(this.#options.client, this.#losses)
    this.#lease.assertHeld()
  }

  clearIntent(): Promise<void> {
    return this.#lease.write(this.#intentKey, '')
  }

  async readRanges(intent: SinkIntent): Promise<IntentRest> {
    const runs: SinkRun[] = []
    let inserted = false
    for (const { partition, lane, first, last, entries: expected } of intent.ranges) {
      const pending = await this.#pendingIds({ partition, lane }, first, last, expected)
      if (pending.size < expected) inserted = true
      const raw = (await this.#call('XRANGE', this.#key({ partition, lane }), first, last)) as RawEntry[]
      const open = raw.filter(([id]) => pending.has(id.toString('latin1')))
      const entries = await this.#entries(open, { partition, lane })
      if (entries.length > 0) runs.push({ partition, lane, entries })
    }
    return { runs, inserted }
  }

  async #pendingIds(stream: SinkStream, first: string, last: string, count: number): Promise<Set<string>> {
    const pending = await this.#call('XPENDING', this.#key(stream), this.#options.group, first, last, count)
    return new Set((pending as Buffer[][]).map((entry) => entry[0]!.toString('latin1')))
  }

  async readPending(eventsMax: number): Promise<SinkRun[]> {
    this.#lease.assertHeld()
    return this.#read(this.#streams(), '0', eventsMax)
  }

  async readNew(eventsMax: number, waitMs: number, signal?: AbortSignal): Promise<SinkRun[]> {
    this.#lease.assertHeld()
    if (this.#isAtRest && waitMs >= BLOCK_MS_MIN) return this.#waitForNew(waitMs, signal)
    const live = await this.#read(this.#streams('live'), '>', eventsMax)
    const room = eventsMax - live.reduce((sum, run) => sum + countEvents(run), 0)
    const batch = room > 0 ? await this.#read(this.#streams('batch'), '>', room) : []
    const runs = [...live, ...batch]
    if (runs.length > 0 || waitMs < 1) return runs
    return this.#waitForNew(waitMs, signal)
  }

  async #waitForNew(waitMs: number, signal: AbortSignal | undefined): Promise<SinkRun[]> {
    const { blocking, client, cluster, clusterPollMs = POLL_MS, group } = this.#options
    // Renews first, so that the lease allows a long wait. If that fails, the lease runs out.
    if (this.#isAtRest && !this.isShared && waitMs > LEASE_MS / 2) await this.#lease.renew().catch(() => {})
    const shareMs = this.isShared ? SHARED_BLOCK_MS_MAX : waitMs
    const mostMs = Math.min(waitMs, shareMs, this.#lease.leftMs() - BEFORE_LEASE_ENDS_MS)
    if (cluster || mostMs < BLOCK_MS_MIN) {
      const pollMs = cluster ? clusterPollMs : Math.max(POLL_MS, Math.min(waitMs, BLOCK_MS_MIN) / 4)
      await pause(Math.min(waitMs, pollMs), signal)
      return []
    }
    const streams = this.#streams()
    const reply = await readBlocking({
      ...{ blocking, client, group, consumer: CONSUMER, count: 1, signal },
      streams: streams.map((stream) => this.#key(stream)),
      blockMs: untilTick(mostMs, Date.now()),
    })
    this.#isAtRest = reply.length === 0
    return this.#runs(streams, reply)
  }

  async #read(streams: readonly SinkStream[], from: '0' | '>', eventsMax: number): Promise<SinkRun[]> {
    const { group, readEntriesMax } = this.#options
    const estimate = Math.ceil(eventsMax / streams.length / this.#eventsPerEntry)
    const count =
      from === '>' && readEntriesMax !== undefined
        ? Math.max(1, Math.floor(readEntriesMax / streams.length))
        : Math.min(READ_ENTRIES_MAX, Math.max(READ_ENTRIES_MIN, estimate))
    // The streams of a Redis Cluster are on several servers.
    const calls = this.#options.cluster ? streams.map((stream) => [stream]) : [streams]
    const replies = await Promise.all(
      calls.map((called) => {
        const names = called.map((stream) => this.#key(stream))
        const ids = called.map(() => from)
        return this.#call('XREADGROUP', 'GROUP', group, CONSUMER, 'COUNT', count, 'STREAMS', ...names, ...ids)
      }),
    )
    const raws = replies.flatMap((reply) => (reply as RawStreams) ?? [])
    const runs = await this.#runs(streams, raws)
    // All entries of this read were buried or passed over. More may follow.
    const isMore = from === '0' && runs.length === 0 && raws.some(([, raw]) => raw.length > 0)
    return isMore ? this.#read(streams, from, eventsMax) : runs
  }

  async #runs(streams: readonly SinkStream[], raws: NonNullable<RawStreams>): Promise<SinkRun[]> {
    const byName = new Map(raws.map(([key, raw]) => [key.toString('latin1'), raw]))
    const runs: SinkRun[] = []
    for (const stream of streams) {
      const entries = await this.#entries(byName.get(this.#key(stream)) ?? [], stream)
      if (entries.length === 0) continue
      const run = { ...stream, entries }
      this.#eventsPerEntry = (this.#eventsPerEntry + countEvents(run) / entries.length) / 2
      runs.push(run)
    }
    return runs
  }

  acknowledge(run: SinkRun, refused: readonly RefusedEvent[]): Promise<void> {
    return settleRun(this.#options, run, refused)
  }

  forgotBefore(): Promise<number> {
    return this.#redisRunIds.forgotBefore()
  }

  async hasStrayPending(): Promise<boolean> {
    const { group, client } = this.#options
    const joined = pipelinedCalls(client)
    const summaries = await Promise.all(
      this.#streams().map((stream) => this.#callOn(joined, 'XPENDING', this.#key(stream), group)),
    )
    return summaries.some((summary) => Number((summary as [number])[0]) > 0)
  }

  async close(): Promise<void> {
    this.#options.blocking.disconnect()
  }

  #key({ partition, lane }: SinkStream): string {
    return keys.stream(partition, this.#options.from, lane)
  }

  #streams(only?: Lane): SinkStream[] {
    const { partitions } = this.#options
    const lanes = only === undefined ? LANES : [only]
    const { number: first, of: step } = this.#lease
    const length = Math.ceil((partitions - first) / step)
    return lanes.flatMap((lane) => Array.from({ length }, (_, i) => ({ partition: first + i * step, lane })))
  }

  /** Decodes entries. Moves those that are not blocks to the dead letters at once. */
  async #entries(raw: readonly RawEntry[], stream: SinkStream): Promise<SinkEntry[]> {
    const { client, group, from } = this.#options
    const entries: SinkEntry[] = []
    for (const entry of await passOver(client, group, from, stream, raw)) {
      const read = readEntry(entry, stream.lane, stream.partition, 1)
      if ('block' in read) {
        entries.push({ ...stream, id: read.id, block: read.block, claimId: read.claimId })
      } else {
        const fields = brokenEntryFields({ group, stream: from, lane: stream.lane }, read.reason, entry)
        await bury(client, group, from, stream, read.id, fields)
      }
    }
    return entries
  }

  #call(command: string, ...args: (string | number)[]): Promise<unknown> {
    return this.#callOn(this.#options.client, command, ...args)
  }

  async #callOn(client: Caller, command: string, ...args: (string | number)[]): Promise<unknown> {
    try {
      return await client.callBuffer(command, ...args)
    } catch (error) {
      if (replyCode(error) === 'NOGROUP') await this.#options.ensureGroups()
      throw error
    }
  }
}

/** The membership that divides the shares of a sink. */
export function sinkMembership(
  options: Pick<MembershipOptions, 'client' | 'shares' | 'processName' | 'log'> & { readonly group: string },
): Membership {
  const { group, ...rest } = options
  const intentKeyOf = (number: number, of: number) => intentKey(group, number, of)
  return new Membership({ ...rest, name: group, intentKey: intentKeyOf, setting: 'SINK_SHARES' })
}

function intentKey(group: string, number: number, of: number): string {
  return of === 1 ? keys.sinkIntent(group) : keys.sinkIntent(group, number)
}

function countEvents(run: SinkRun): number {
  return run.entries.reduce((sum, entry) => sum + entry.block.count, 0)
}

/** The clocks of two machines differ by less. On one machine, only the whole seconds of `uptime_in_seconds` are uncertain. */
const CLOCKS_MS = { ofMachines: 10_000, ofOne: 1_000 }

/** The Redis servers that a sink has met. */
interface RunIds {
  /** The `run_id` of each server, new at every start, and the replication id, new at every promotion. */
  readonly ids: string
  /** When a sink first met these servers, milliseconds. */
  readonly sinceMs: number
}

/**
 * Notices that a Redis server restarted, or that its replica took over. It may have lost the end of its append-only
 * file, or data that was not replicated yet. Entries are then delivered again as if for the first time, and steps write their output
 * again under other ids, although the rows of these events may be stored already. All of them were received before the restart.
 *
 * The note is one for all shares of a sink: lost events were received before any share met the new server.
 */
class RedisRunIds {
  readonly #client: RedisClient
  readonly #lease: ShareLease
  readonly #group: string
  #met: RunIds | undefined

  constructor(client: RedisClient, lease: ShareLease, group: string) {
    this.#client = client
    this.#lease = lease
    this.#group = group
  }

  /** Call it after taking the lease: other holders may have met other servers meanwhile. */
  forget(): void {
    this.#met = undefined
  }

  /**
   * Events received before this time, milliseconds, may be stored although Redis does not know it. Call it after a read, so that it
   * covers the servers that the entries came from.
   */
  async forgotBefore(): Promise<number> {
    const hasReplicas = !isLocal(this.#client)
    const servers = await Promise.all(mastersOf(this.#client).map((node) => serverOf(node, hasReplicas)))
    const ids = servers
      .map(({ id }) => id)
      .sort()
      .join()
    if (this.#met?.ids !== ids) this.#met = await this.#meet(ids, servers)
    return this.#met.sinceMs + (isLocal(this.#client) ? CLOCKS_MS.ofOne : CLOCKS_MS.ofMachines)
  }

  /**
   * After a restart, the note names earlier servers, so the new time is now. Without a note, no sink has read before, or a restart
   * lost the note: then the start of the youngest server is late enough.
   */
  async #meet(ids: string, servers: readonly Server[]): Promise<RunIds> {
    const noted = await this.#noted()
    if (noted.ids === ids && noted.sinceMs !== undefined) return { ids, sinceMs: noted.sinceMs }
    const youngest = Math.max(...servers.map(({ startedMs }) => startedMs))
    // Keeps the later time if the clock was set back.
    const sinceMs = noted.sinceMs === undefined ? youngest : Math.max(noted.sinceMs, Date.now())
    const met = { ids, sinceMs }
    await this.#lease.write(keys.sinkRunIds(this.#group), JSON.stringify(met))
    return met
  }

  async #noted(): Promise<Partial<RunIds>> {
    const [text, ofEarlierVersion] = await this.#client.mget(
      keys.sinkRunIds(this.#group),
      keys.sinkRunIds(this.#group, this.#lease.number),
    )
    return JSON.parse(text ?? ofEarlierVersion ?? '{}') as Partial<RunIds>
  }
}

function isLocal(client: RedisClient): boolean {
  return !(client instanceof Cluster) && client.options.path !== undefined
}

interface Server {
  readonly id: string
  /** By our clock, to the second. */
  readonly startedMs: number
}

async function serverOf(node: Redis, hasReplicas: boolean): Promise<Server> {
  const [info, replication] = await Promise.all([node.info('server'), hasReplicas ? node.info('replication') : ''])
  const upSeconds = Number(/^uptime_in_seconds:(\d+)/m.exec(info)?.[1] ?? 0)
  const runId = /^run_id:(\w+)/m.exec(info)?.[1] ?? ''
  const replicationId = /^master_replid:(\w+)/m.exec(replication)?.[1]
  const id = replicationId === undefined ? runId : `${runId}:${replicationId}`
  return { id, startedMs: Date.now() - 1_000 * upSeconds }
}
