import type { Logger } from 'pino'
import { OUTCOME_STATUS } from '../../../schemas/outcome.ts'
import { NewerDataError, throwLater, UnavailableError } from '../../run/errors.ts'
import { Loop } from '../../run/loop.ts'
import { PASSING } from '../../run/passing.ts'
import type { Service } from '../../run/service.ts'
import {
  type Delivery,
  type Outcome,
  SettledElsewhereError,
  type Stage,
  type StageResult,
  type StageTools,
} from '../declaration/stage.ts'
import { type Block, identityAt, type RowChange, rowAt, rowEnds, selectEvents, stateAt } from '../event/block.ts'
import { NO_IDENTITY } from '../event/envelope.ts'
import { BlockOutcomes, NO_OUTCOMES } from '../event/outcomes.ts'
import { type DeadLetter, type Entry, type GroupReader, outcomesOf, type Settlement, type StageCount } from './ports.ts'

interface StepWorkerOptions {
  readonly group: string
  readonly stages: readonly Stage[]
  readonly tools: StageTools
  /** One per partition. */
  readonly readers: readonly GroupReader[]
  /** After this many deliveries a block is split into single events. A single event is given up after twice as many. */
  readonly deliveriesMax: number
  readonly log: Logger
  /** Called once per round, with the number of events by outcome and the counts of each stage. */
  readonly onSettled?: (outcomes: ReadonlyMap<string, number>, stages: readonly StageCount[]) => void
}

const RETRY_DELAY = { minMs: 50, maxMs: 1_000 }
/** Bounds memory. Far more entries than are in work at once. */
const UNAVAILABLE_MAX = 10_000
/** After this many batch reads in a row, finishes all entries: only then it takes over entries that other consumers left. */
const AHEAD_MAX = 8
/** Another consumer must interfere between two of our calls each time. */
const CONTESTED_MAX = 5

/**
 * Runs one step of a pipeline: reads entries, runs the stages, then writes the results and acknowledges atomically. Partitions run
 * in parallel. An entry that fails for a passing reason stays pending and is read again.
 */
export class StepWorker implements Service {
  readonly name: string
  readonly #options: StepWorkerOptions
  readonly #loops: readonly Loop[]
  /** The work on batch entries that continues during the next read, and the number of these reads in a row. */
  readonly #finishing = new Map<GroupReader, { readonly end: Promise<unknown>; readonly reads: number }>()
  /** Entries that this process could not finish because a store was down. */
  readonly #unavailable = new Set<string>()
  #closed: Promise<unknown> | undefined

  constructor(options: StepWorkerOptions) {
    this.name = `step ${options.group}`
    this.#options = options
    this.#loops = options.readers.map((reader) => this.#loopOf(reader))
  }

  async start(): Promise<void> {
    await Promise.all(this.#loops.map((loop) => loop.start()))
  }

  async stop(): Promise<void> {
    await Promise.all(this.#loops.map((loop) => loop.stop()))
    this.#closed ??= Promise.all(this.#options.readers.map((reader) => reader.close()))
    await this.#closed
  }

  #loopOf(reader: GroupReader): Loop {
    const { log, group } = this.#options
    return new Loop({
      name: `${this.name} ${reader.partition}`,
      // Entries still in work are pending too, so a recovery would read them again.
      enter: () => this.#settled(reader),
      round: (signal) => this.#round(reader, signal),
      leave: () => this.#settled(reader),
      failed: (err, delayMs) => {
        // Each further delivery would count against the entries.
        if (err instanceof NewerDataError) return throwLater(err)
        reader.recover()
        log.warn(
          { err, group, partition: reader.partition, delay_ms: Math.round(delayMs), ...PASSING },
          'step waits; its entries stay pending',
        )
      },
      delay: RETRY_DELAY,
    })
  }

  /**
   * Finishes batch entries while it reads the next ones, so that Redis and this process do not wait for each other. At most the
   * entries of two reads are in work. Live entries are finished before the next read.
   */
  async #round(reader: GroupReader, signal: AbortSignal): Promise<undefined> {
    const before = this.#finishing.get(reader)
    const { entries, broken } = await reader.next(before === undefined, signal)
    for (const entry of broken) {
      this.#options.log.error(
        { group: this.#options.group, ...entry },
        'entry is not a block; moved to the dead letters',
      )
      await reader.bury(entry)
    }
    const finished = this.#finishAll(reader, entries)
    const reads = (before?.reads ?? 0) + 1
    this.#finishing.set(reader, { end: Promise.allSettled([before?.end, finished]), reads })
    await before?.end
    const isBatch = entries.length > 0 && entries.every(({ lane }) => lane === 'batch')
    if (isBatch && reads < AHEAD_MAX) {
      this.#finishing.set(reader, { end: finished, reads })
    } else {
      await finished
      this.#finishing.delete(reader)
    }
  }

  async #settled(reader: GroupReader): Promise<void> {
    await this.#finishing.get(reader)?.end.catch(() => {})
    this.#finishing.delete(reader)
  }

  async #finishAll(reader: GroupReader, entries: readonly Entry[]): Promise<void> {
    const settled = new RoundSums()
    const results = await Promise.allSettled(entries.map((entry) => this.#finish(reader, entry, settled)))
    if (settled.outcomes.size > 0) this.#options.onSettled?.(settled.outcomes, settled.stages)
    const failed = results.find((result) => result.status === 'rejected')
    if (failed !== undefined) throw failed.reason
  }

  async #finish(reader: GroupReader, entry: Entry, settled: RoundSums): Promise<void> {
    const name = `${entry.partition} ${entry.lane} ${entry.id}`
    let settlement: Settlement | undefined
    try {
      const hadToWait = this.#unavailable.has(name)
      settlement = await this.#process(entry, hadToWait)
      let result = await reader.settle(entry, settlement)
      for (let tries = 1; result === 'contested'; tries++) {
        if (tries === CONTESTED_MAX) throw new UnavailableError('another consumer works on the same entry')
        const again = { ...entry, repeated: true }
        settlement = await this.#process(again, hadToWait)
        result = await reader.settle(again, settlement)
      }
      if (result === 'written') settled.add(settlement)
      this.#unavailable.delete(name)
    } catch (error) {
      if (error instanceof SettledElsewhereError) {
        this.#unavailable.delete(name)
        return
      }
      const isStoreDown = settlement !== undefined || error instanceof UnavailableError
      if (isStoreDown && this.#unavailable.size < UNAVAILABLE_MAX) this.#unavailable.add(name)
      throw error
    }
  }

  /** @param hadToWait the entry came back because a store was down, so its number of deliveries proves nothing against it */
  async #process(entry: Entry, hadToWait: boolean): Promise<Settlement> {
    const { stages, tools, deliveriesMax } = this.#options
    const { block, deliveries } = entry
    if (hadToWait || deliveries <= deliveriesMax) return runStages(stages, block, entry, tools)
    const parts = splitByIdentity(block)
    if (parts.length > 1) return isolate(parts)
    if (deliveries <= 2 * deliveriesMax) return runStages(stages, block, entry, tools)
    return giveUp(block, deliveries)
  }
}

/** Sums up the results of a round, so that metrics cost once per round and not per entry. */
class RoundSums {
  readonly outcomes = new Map<string, number>()
  readonly #stages = new Map<string, { stage: string; in: number; out: number; dropped: Map<string, number> }>()

  get stages(): readonly StageCount[] {
    return [...this.#stages.values()]
  }

  add(settlement: Settlement): void {
    addAll(this.outcomes, outcomesOf(settlement))
    for (const { stage, dropped, ...passed } of settlement.stages ?? []) {
      let sum = this.#stages.get(stage)
      if (sum === undefined) {
        sum = { stage, in: 0, out: 0, dropped: new Map() }
        this.#stages.set(stage, sum)
      }
      sum.in += passed.in
      sum.out += passed.out
      addAll(sum.dropped, dropped)
    }
  }
}

function addAll(sums: Map<string, number>, more: ReadonlyMap<string, number>): void {
  for (const [name, events] of more) sums.set(name, (sums.get(name) ?? 0) + events)
}

/** Sums over all stages of a block. */
interface Tally {
  readonly dropped: Map<string, number>
  readonly dead: Omit<DeadLetter, 'keepsClaim'>[]
  readonly outcomes: BlockOutcomes
  readonly counts: Map<string, number>
  /** Identities of events that were dropped before the stage that claims. */
  readonly unclaimed: Set<string>
}

const NONE: ReadonlySet<string> = new Set()

/**
 * Runs a block through stages. If a stage throws for the whole block, it runs again for each event alone, so that only the events
 * at fault become dead letters. An event that an earlier delivery claimed is kept, even if the stages decide otherwise now; see `SeenStore`.
 * @throws UnavailableError when a store that a stage needs is down; SettledElsewhereError
 */
export async function runStages(
  stages: readonly Stage[],
  block: Block,
  delivery: Delivery,
  tools: StageTools,
): Promise<Settlement> {
  const outcomes = new BlockOutcomes()
  const tally: Tally = { dropped: new Map(), dead: [], outcomes, counts: new Map(), unclaimed: new Set() }
  const mayBeClaimed = delivery.repeated && stages.some(({ claims }) => claims)
  let promised = mayBeClaimed ? await promisedIdentities(block, delivery, tools) : NONE
  let current: Block | undefined = block
  const passed: StageCount[] = []
  for (const stage of stages) {
    const result = await decide(stage, current, delivery, tools)
    // The claiming stage drops only events that another entry claimed, or that repeat an event of this block.
    if (stage.claims) promised = NONE
    const given = current.count
    const stageTally = { ...tally, dropped: new Map<string, number>() }
    current = apply(stage, current, result, promised, stageTally)
    for (const [reason, events] of stageTally.dropped) add(tally.dropped, reason, events)
    passed.push({ stage: stage.name, in: given, out: current?.count ?? 0, dropped: stageTally.dropped })
    if (current === undefined) break
  }
  const kept = mayBeClaimed || tally.dead.length > 0 ? identitiesOf(current) : NONE
  const unclaimed = mayBeClaimed ? [...tally.unclaimed].filter((identity) => !kept.has(identity)) : []
  const { dropped, counts } = tally
  return {
    output: current,
    dropped,
    dead: letters(tally.dead, kept),
    outcomes: outcomes.counts,
    stages: passed,
    counts,
    again: [],
    unclaimed,
  }
}

async function promisedIdentities(block: Block, delivery: Delivery, { seen }: StageTools): Promise<Set<string>> {
  const held = await seen.held(block.identities, delivery)
  return new Set(held.map((position) => identityAt(block, position)))
}

/** @param kept identities of the events that are kept */
function letters(dead: Tally['dead'], kept: ReadonlySet<string>): DeadLetter[] {
  const claimed = new Set(kept)
  return dead.map((letter) => {
    const identity = identityAt(letter.block, 0)
    const keepsClaim = !claimed.has(identity)
    claimed.add(identity)
    return { ...letter, keepsClaim }
  })
}

function identitiesOf(block: Block | undefined): ReadonlySet<string> {
  if (block === undefined) return NONE
  return new Set(Array.from({ length: block.count }, (_, i) => identityAt(block, i)))
}

/** Splits a block into blocks of one event. Events of one identity stay together, because they share a claim. */
export function splitByIdentity(block: Block): Block[] {
  const groups: number[][] = []
  const byIdentity = new Map<string, number[]>()
  for (let i = 0; i < block.count; i++) {
    const identity = identityAt(block, i)
    const known = identity === NO_IDENTITY ? undefined : byIdentity.get(identity)
    if (known !== undefined) {
      known.push(i)
      continue
    }
    const group = [i]
    groups.push(group)
    byIdentity.set(identity, group)
  }
  return groups.map((positions) => selectEvents(block, positions))
}

/** Replaces an entry by one entry for each part, in the same stream. @param parts two or more */
export function isolate(parts: readonly Block[]): Settlement {
  return { ...NOTHING, again: parts }
}

/** Makes a dead letter of each event. At every delivery the process ended, or took too long. */
export function giveUp(block: Block, deliveries: number): Settlement {
  const reason = `not finished after ${deliveries} deliveries`
  const outcomes = new BlockOutcomes()
  const ends = rowEnds(block)
  const dead = Array.from({ length: block.count }, (_, i) => ({
    reason,
    block: selectEvents(block, [i]),
    outcome: outcomes.add(block, i, OUTCOME_STATUS.dead, 'not finished', ends),
  }))
  return { ...NOTHING, dead: letters(dead, NONE), outcomes: outcomes.counts }
}

const NOTHING: Settlement = {
  output: undefined,
  dropped: new Map(),
  dead: [],
  outcomes: NO_OUTCOMES,
  counts: new Map(),
  again: [],
  unclaimed: [],
}

async function decide(stage: Stage, block: Block, delivery: Delivery, tools: StageTools): Promise<StageResult> {
  try {
    return await ask(stage, block, delivery, tools)
  } catch (error) {
    // Run for single events, a stage that claims would keep every repeat within the block: each would find its own claim.
    if (!isAboutEvents(error) || stage.claims) throw error
    return decideOneByOne(stage, block, delivery, tools)
  }
}

async function ask(stage: Stage, block: Block, delivery: Delivery, tools: StageTools): Promise<StageResult> {
  return stage.decide(block, await stage.gather?.(block, delivery, tools), tools)
}

async function decideOneByOne(stage: Stage, block: Block, delivery: Delivery, tools: StageTools): Promise<StageResult> {
  const outcomes = new Map<number, Outcome>()
  const changes = new Map<number, RowChange>()
  const counts: Record<string, number> = {}
  for (let i = 0; i < block.count; i++) {
    try {
      const result = await ask(stage, selectEvents(block, [i]), delivery, tools)
      const outcome = result.outcomes?.get(0)
      const change = result.changed === undefined ? result.changes?.get(0) : changeOf(result.changed)
      if (outcome !== undefined) outcomes.set(i, outcome)
      if (change !== undefined) changes.set(i, change)
      for (const [name, events] of Object.entries(result.counts ?? {})) counts[name] = (counts[name] ?? 0) + events
    } catch (error) {
      if (!isAboutEvents(error)) throw error
      const reason = `${stage.name}: ${error instanceof Error ? error.message : String(error)}`
      outcomes.set(i, { kind: 'dead', reason })
    }
  }
  return { outcomes, changes, counts }
}

/** The state and row of a block's only event. */
function changeOf(block: Block): RowChange {
  return { state: stateAt(block, 0), row: rowAt(block, rowEnds(block), 0) }
}

function isAboutEvents(error: unknown): boolean {
  return !(error instanceof UnavailableError || error instanceof SettledElsewhereError)
}

/** @param promised identities that an earlier delivery claimed */
function apply(
  stage: Stage,
  block: Block,
  result: StageResult,
  promised: ReadonlySet<string>,
  tally: Tally,
): Block | undefined {
  const { outcomes, changes, counts, changed = block } = result
  for (const name in counts) add(tally.counts, name, counts[name]!)
  if (outcomes === undefined || outcomes.size === 0) {
    return changes === undefined || changes.size === 0 ? changed : selectEvents(changed, everyEvent(block), changes)
  }
  const ends = rowEnds(block)
  const keep: number[] = []
  for (let i = 0; i < block.count; i++) {
    const outcome = outcomes.get(i)
    // An empty row is noise that its source marked. The claim belongs to another event of the same identity.
    const isPromised = promised.size > 0 && promised.has(identityAt(block, i)) && rowAt(block, ends, i).length > 0
    if (outcome === undefined || (outcome.kind === 'drop' && isPromised)) {
      keep.push(i)
    } else if (outcome.kind === 'drop' && stage.drops?.includes(outcome.reason)) {
      add(tally.dropped, outcome.reason, 1)
      tally.outcomes.add(block, i, outcome.reason, outcome.detail, ends)
      if (!stage.claims) tally.unclaimed.add(identityAt(block, i))
    } else {
      const undeclared = `${stage.name} drops for "${outcome.reason}", which it does not declare`
      tally.dead.push({
        reason: outcome.kind === 'dead' ? outcome.reason : undeclared,
        block: selectEvents(block, [i]),
        outcome: tally.outcomes.add(block, i, OUTCOME_STATUS.dead, stage.name, ends),
      })
    }
  }
  return keep.length === 0 ? undefined : selectEvents(changed, keep, changes)
}

function everyEvent(block: Block): number[] {
  return Array.from({ length: block.count }, (_, i) => i)
}

function add(sums: Map<string, number>, name: string, events: number): void {
  if (events !== 0) sums.set(name, (sums.get(name) ?? 0) + events)
}
