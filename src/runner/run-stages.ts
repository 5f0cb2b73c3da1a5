import { type Block, identityAt, type RowChange, selectEvents } from '../core/event/block.ts'
import { NO_IDENTITY } from '../core/event/envelope.ts'
import type { Delivery } from '../core/pipeline/delivery.ts'
import type { Outcome } from '../core/pipeline/outcome.ts'
import { SettledElsewhereError } from '../core/pipeline/seen.ts'
import type { Stage, StageResult, StageTools } from '../core/pipeline/stage.ts'
import { UnavailableError } from '../core/run/errors.ts'
import type { DeadLetter, Settlement } from './ports.ts'

/** The parts of a settlement that grow while a block goes from stage to stage. */
interface Tally {
  readonly dropped: Map<string, number>
  readonly dead: DeadLetter[]
  readonly counts: Map<string, number>
  /** Identities of dropped events that may be claimed. */
  readonly released: Set<string>
}

/**
 * Runs a block through stages. A stage that throws for the block as a whole is asked again for each of its events alone,
 * so that only those that it cannot process become dead letters.
 * @throws UnavailableError when a stage needs something that is away; SettledElsewhereError
 */
export async function runStages(
  stages: readonly Stage[],
  block: Block,
  delivery: Delivery,
  tools: StageTools,
): Promise<Settlement> {
  const tally: Tally = { dropped: new Map(), dead: [], counts: new Map(), released: new Set() }
  let current: Block | undefined = block
  let claimed = delivery.repeated
  for (const stage of stages) {
    const result = await decide(stage, current, delivery, tools)
    // What a claiming stage drops is claimed by another owner, or for a twin that it keeps: there is nothing to give back.
    current = apply(current, result, claimed && !stage.claims, tally)
    if (current === undefined) break
    claimed ||= stage.claims === true
  }
  const { dropped, dead, counts } = tally
  return { output: current, dropped, dead, counts, again: [], unclaimed: unclaimed(tally, current) }
}

/**
 * What can be tried apart of a block that was delivered too often without an end: each event alone, but those of one
 * identity together, since what one of them claims is claimed for the others.
 */
export function partsOf(block: Block): Block[] {
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

/** The entry goes back into its stream as an entry for each part. @param parts two or more */
export function isolate(parts: readonly Block[]): Settlement {
  return { ...NOTHING, again: parts }
}

/** A dead letter for each event: their process ended, or was held up for too long, at every delivery. */
export function giveUp(block: Block, deliveries: number): Settlement {
  const reason = `not finished after ${deliveries} deliveries`
  const dead = Array.from({ length: block.count }, (_, i) => ({ reason, block: selectEvents(block, [i]) }))
  return { ...NOTHING, dead }
}

const NOTHING: Settlement = {
  output: undefined,
  dropped: new Map(),
  dead: [],
  counts: new Map(),
  again: [],
  unclaimed: [],
}

async function decide(stage: Stage, block: Block, delivery: Delivery, tools: StageTools): Promise<StageResult> {
  try {
    return await ask(stage, block, delivery, tools)
  } catch (error) {
    // Asked one by one, a stage that claims would find the events of one identity to be its own.
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
      const change = result.changes?.get(0)
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

function isAboutEvents(error: unknown): boolean {
  return !(error instanceof UnavailableError || error instanceof SettledElsewhereError)
}

/** @param claimed whether identities of dropped events may be claimed */
function apply(block: Block, result: StageResult, claimed: boolean, tally: Tally): Block | undefined {
  const { outcomes, changes, counts } = result
  for (const name in counts) add(tally.counts, name, counts[name]!)
  if (outcomes === undefined || outcomes.size === 0) {
    return changes === undefined || changes.size === 0 ? block : selectEvents(block, everyEvent(block), changes)
  }
  const keep: number[] = []
  for (let i = 0; i < block.count; i++) {
    const outcome = outcomes.get(i)
    if (outcome === undefined) {
      keep.push(i)
    } else if (outcome.kind === 'drop') {
      add(tally.dropped, outcome.reason, 1)
      if (claimed) tally.released.add(identityAt(block, i))
    } else {
      tally.dead.push({ reason: outcome.reason, block: selectEvents(block, [i]) })
    }
  }
  return keep.length === 0 ? undefined : selectEvents(block, keep, changes)
}

function everyEvent(block: Block): number[] {
  return Array.from({ length: block.count }, (_, i) => i)
}

/** Of the released identities those that no event has that is kept, or may be tried again. */
function unclaimed({ released, dead }: Tally, output: Block | undefined): string[] {
  if (released.size === 0) return []
  for (const block of [...(output === undefined ? [] : [output]), ...dead.map((letter) => letter.block)]) {
    for (let i = 0; i < block.count; i++) released.delete(identityAt(block, i))
  }
  released.delete(NO_IDENTITY)
  return [...released]
}

function add(sums: Map<string, number>, name: string, events: number): void {
  if (events !== 0) sums.set(name, (sums.get(name) ?? 0) + events)
}
