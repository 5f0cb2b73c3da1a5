import { OUTCOME_STATUS } from '../../../schemas/outcome.ts'
import { UnavailableError } from '../../run/errors.ts'
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
import type { DeadLetter, Settlement, StageCount } from './ports.ts'

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
 * at fault become dead letters. An event that an earlier delivery claimed is kept, whatever the stages decide now; see `SeenStore`.
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
