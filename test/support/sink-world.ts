import { type Inserter, RefusedRowsError } from '../../src/pipeline/declaration/destination.ts'
import { packBlock, rowAt, rowEnds } from '../../src/pipeline/event/block.ts'
import { EnvelopeState, identityOf } from '../../src/pipeline/event/envelope.ts'
import type { SinkEntry, SinkIntent, SinkRun, SinkSource } from '../../src/pipeline/runner/sink-ports.ts'
import { SinkWorker } from '../../src/pipeline/runner/sink-worker.ts'
import { silent } from './pipeline.ts'
import { until } from './until.ts'

/*
 * A sink guarantees the order of its actions: intent, insert, acknowledge, clear. The store and the destination here
 * are models that log each action. The process can end at any of them, and the next one continues from the written state.
 */

export function entryOf(id: string, ...rows: string[]): SinkEntry {
  const envelopes = rows.map((row) => ({ identity: identityOf('t', row), state: EnvelopeState.Enriched, row }))
  return { partition: 0, lane: 'live', id, block: packBlock(envelopes), claimId: Buffer.alloc(8) }
}

/** The state that survives a process: the streams, the intent, the destination. */
export class World {
  readonly log: string[] = []
  readonly undelivered: SinkRun[] = [
    { partition: 0, lane: 'live', entries: [entryOf('1-0', 'a', 'b', 'bad')] },
    { partition: 1, lane: 'live', entries: [entryOf('1-0', 'c'), entryOf('2-0', 'd')] },
  ]
  pending: SinkRun[] = []
  intent: SinkIntent | undefined
  readonly stored: string[] = []
  readonly tokens = new Set<string>()
  readonly dead: string[] = []
  /** The destination's answer to an insert, before it checks its rows. */
  refuses: (lines: readonly string[]) => Error | undefined = () => undefined
  /** The fate of its answer to an insert that was stored. */
  loses: (lines: readonly string[]) => Error | undefined = () => undefined
  /** Whether it reports that it stores rows now. */
  isOpen = true
  forgotBefore = 0
  /** The destination's own tokens. */
  newToken: (() => string) | undefined
  /** An intent of a sink with another number of shares. */
  readonly other: { intent: SinkIntent | undefined } = { intent: undefined }
  /** Another process is to take over. */
  isWanted = false
  isShared = false
  /** The destination cannot be made ready. */
  isDown = false
  readonly refusals: string[] = []
  /** Rows of an insert; a read then delivers one run, and is logged. */
  rowsMax: number | undefined
  /** Runs in hand and runs waiting, at each call that must have nothing in hand. */
  readonly asked: { readonly inHand: number; readonly waiting: number }[] = []
  /** Rows that an observer learned of; undefined: there is none. */
  observed: Set<string> | undefined
  /** Rows that were acknowledged before an observer learned of them. */
  readonly unobserved: string[] = []
  /** Token of the first insert of the first process. */
  firstToken: string | undefined

  /** Entries of pending runs that a check covers. */
  take(runs: readonly SinkRun[], holds: (run: SinkRun, entry: SinkEntry) => boolean): SinkRun[] {
    return runs
      .map((run) => ({ ...run, entries: run.entries.filter((entry) => holds(run, entry)) }))
      .filter((run) => run.entries.length > 0)
  }
}

/** Ends the process at action number `crashAt`, before or after it takes effect. */
interface Crash {
  readonly at: number
  readonly after: boolean
}

/** One process: a sink on the world, until it is idle or it crashed. Returns whether it crashed. */
export async function runProcess(world: World, crash?: Crash, isOver = () => false): Promise<boolean> {
  let actions = 0
  let crashed = false
  let idle = false
  const act = async <T>(name: string, effect: () => T): Promise<T> => {
    // A process that has ended does nothing more.
    if (crashed) await new Promise(() => {})
    const isLast = crash?.at === actions++
    if (isLast && !crash?.after) crashed = true
    if (crashed) return new Promise(() => {})
    world.log.push(name)
    try {
      return effect()
    } finally {
      if (isLast) crashed = true
      // Its answer is lost with the process.
      if (crashed) await new Promise(() => {})
    }
  }
  let isGoing = false
  const sourceOf = (intents: { intent: SinkIntent | undefined }): SinkSource => ({
    async acquire(_signal, finish) {
      await act('acquire', () => true)
      if (world.other.intent !== undefined) await finish(sourceOf(world.other))
      return true
    },
    async release() {
      if (isGoing || world.isDown) await act('release', () => {})
      isGoing = false
    },
    isShared: world.isShared,
    givesBack() {
      world.asked.push({ inHand: world.pending.length, waiting: world.undelivered.length })
      isGoing = world.isWanted
      world.isWanted = false
      return isGoing
    },
    intent: async () => intents.intent,
    writeIntent: (intent) =>
      act(intent.refused === undefined ? 'intent' : 'intent with refused rows', () => {
        intents.intent = intent
      }),
    clearIntent: () =>
      act('clear', () => {
        intents.intent = undefined
      }),
    async readRanges({ ranges }) {
      const inRanges = world.take(world.pending, (run, { id }) =>
        ranges.some((range) => range.partition === run.partition && range.first <= id && id <= range.last),
      )
      const expected = ranges.reduce((sum, range) => sum + range.entries, 0)
      const found = inRanges.reduce((sum, run) => sum + run.entries.length, 0)
      return { runs: inRanges, inserted: found < expected }
    },
    readPending: async () => world.pending,
    async readNew() {
      if (crashed) await new Promise(() => {})
      const runs = world.undelivered.splice(0, world.rowsMax === undefined ? Number.POSITIVE_INFINITY : 1)
      if (world.rowsMax !== undefined && runs.length > 0) world.log.push('read')
      world.pending.push(...runs)
      if (runs.length === 0) {
        idle = world.pending.length === 0
        await new Promise(setImmediate)
      }
      return runs
    },
    acknowledge: (run, refused) =>
      act(`acknowledge ${run.partition}`, () => {
        const done = new Set(run.entries)
        const rows = run.entries.flatMap(rowsOf)
        if (world.observed !== undefined) world.unobserved.push(...rows.filter((row) => !world.observed!.has(row)))
        world.pending = world.take(
          world.pending,
          (other, entry) => other.partition !== run.partition || ![...done].some(({ id }) => id === entry.id),
        )
        for (const { entry, index } of refused) world.dead.push(rowsOf(entry)[index]!)
      }),
    forgotBefore: async () => world.forgotBefore,
    hasStrayPending: async () => false,
    close: async () => {},
  })
  const source = sourceOf(world)
  const inserter: Inserter = {
    ...(world.newToken && { newToken: world.newToken }),
    prepare: () =>
      act('prepare', () => {
        if (world.isDown) throw new Error('down')
      }),
    insert: (rows, token) =>
      act('insert', () => {
        world.firstToken ??= token
        const lines = Buffer.concat(rows).toString().trimEnd().split('\n')
        const refusal = world.refuses(lines)
        if (refusal !== undefined) throw refusal
        if (lines.includes('bad')) throw new RefusedRowsError('bad row')
        if (!world.tokens.has(token)) world.stored.push(...lines)
        world.tokens.add(token)
        const loss = world.loses(lines)
        if (loss !== undefined) throw loss
      }),
    // Each row of these tests was received at its second letter.
    receivedAt: (rows) => Number(rows.toString('latin1', 1, 2)) || 9,
    async assertOpen() {
      if (!world.isOpen) throw new Error('closed')
    },
    async absent(rows) {
      const lines = rows.map((row) => row.toString().trimEnd())
      return lines.filter((line) => !world.stored.includes(line)).map((line) => Buffer.from(`${line}\n`))
    },
    close: async () => {},
  }
  const sink = new SinkWorker({
    group: 'g',
    startsReady: true,
    prepareMs: 0,
    source,
    inserter,
    onRefused: (rows, kind) => void world.refusals.push(`${rows} ${kind}`),
    ...(world.observed && {
      observe: (blocks) =>
        act('observe', () => {
          for (const block of blocks) for (const row of rowsOf({ block })) world.observed!.add(row)
        }),
    }),
    rowsMax: world.rowsMax ?? 100,
    aheadBytesMax: 1e6,
    lingerMs: 0,
    retryDelay: { minMs: 1, maxMs: 1 },
    log: silent,
  })
  void sink.start()
  // A sink that repeats itself for ever shows in the state it leaves.
  await until(() => crashed || idle || isOver() || world.log.length > 500)
  // A crashed one is left as it is: nothing of it runs any more.
  if (!crashed) await sink.stop()
  return crashed
}

function rowsOf({ block }: Pick<SinkEntry, 'block'>): string[] {
  const ends = rowEnds(block)
  return Array.from({ length: block.count }, (_, i) => rowAt(block, ends, i).toString())
}
