import { type Block, identityAt, type RowChange, selectEvents } from '../core/event/block.ts'
import { NO_IDENTITY } from '../core/event/envelope.ts'
import type { Outcome } from '../core/pipeline/outcome.ts'
import type { Delivery, Stage, StageResult } from '../core/pipeline/stage.ts'
import { UnavailableError } from '../core/run/errors.ts'
import type { Commit, DeadLetter } from './ports.ts'

/** The parts of a commit that grow while a block goes from stage to stage. */
interface Tally {
  readonly outcomes: Map<string, number>
  readonly dead: DeadLetter[]
}

/**
 * Runs a block through stages. A stage that throws for the block as a whole is asked again for each of its events alone,
 * so that only those that it cannot process become dead letters.
 * @throws UnavailableError when a stage needs something that is away
 */
export async function runStages(stages: readonly Stage[], block: Block, delivery: Delivery): Promise<Commit> {
  const tally: Tally = { outcomes: new Map(), dead: [] }
  let current: Block | undefined = block
  for (const stage of stages) {
    current = await runStage(stage, current, delivery, tally)
    if (current === undefined) break
  }
  if (current !== undefined) count(tally.outcomes, 'kept', current.count)
  return { output: current, again: [], ...tally }
}

/** An entry that was delivered too often without an end: its events go back one by one, repeats left out. */
export function isolate(block: Block): Commit {
  const outcomes = new Map<string, number>()
  const seen = new Set<string>()
  const again: Block[] = []
  for (let i = 0; i < block.count; i++) {
    const identity = identityAt(block, i)
    if (identity !== NO_IDENTITY && seen.has(identity)) count(outcomes, 'duplicate', 1)
    else again.push(selectEvents(block, [i]))
    seen.add(identity)
  }
  count(outcomes, 'isolated', again.length)
  return { output: undefined, outcomes, dead: [], again }
}

/** An event that ended the process, or its time, at every delivery. */
export function giveUp(block: Block, deliveries: number): Commit {
  return {
    output: undefined,
    outcomes: new Map([['dead', block.count]]),
    dead: [{ reason: `not finished after ${deliveries} deliveries`, block }],
    again: [],
  }
}

async function runStage(stage: Stage, block: Block, delivery: Delivery, tally: Tally): Promise<Block | undefined> {
  try {
    return apply(block, await decide(stage, block, delivery), tally)
  } catch (error) {
    if (error instanceof UnavailableError) throw error
    return apply(block, await decideOneByOne(stage, block, delivery), tally)
  }
}

async function decide(stage: Stage, block: Block, delivery: Delivery): Promise<StageResult> {
  return stage.decide(block, await stage.gather?.(block, delivery))
}

async function decideOneByOne(stage: Stage, block: Block, delivery: Delivery): Promise<StageResult> {
  const outcomes = new Map<number, Outcome>()
  const changes = new Map<number, RowChange>()
  for (let i = 0; i < block.count; i++) {
    try {
      const result = await decide(stage, selectEvents(block, [i]), delivery)
      const outcome = result.outcomes?.get(0)
      const change = result.changes?.get(0)
      if (outcome !== undefined) outcomes.set(i, outcome)
      if (change !== undefined) changes.set(i, change)
    } catch (error) {
      if (error instanceof UnavailableError) throw error
      outcomes.set(i, {
        kind: 'dead',
        reason: `${stage.name}: ${error instanceof Error ? error.message : String(error)}`,
      })
    }
  }
  return { outcomes, changes }
}

function apply(block: Block, result: StageResult, tally: Tally): Block | undefined {
  const { outcomes, changes } = result
  if (outcomes === undefined || outcomes.size === 0) return selectEvents(block, everyEvent(block), changes)
  const keep: number[] = []
  for (let i = 0; i < block.count; i++) {
    const outcome = outcomes.get(i)
    if (outcome === undefined) {
      keep.push(i)
    } else if (outcome.kind === 'drop') {
      count(tally.outcomes, outcome.reason, 1)
    } else {
      count(tally.outcomes, 'dead', 1)
      tally.dead.push({ reason: outcome.reason, block: selectEvents(block, [i]) })
    }
  }
  return keep.length === 0 ? undefined : selectEvents(block, keep, changes)
}

function everyEvent(block: Block): number[] {
  return Array.from({ length: block.count }, (_, i) => i)
}

function count(outcomes: Map<string, number>, outcome: string, by: number): void {
  if (by > 0) outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + by)
}
