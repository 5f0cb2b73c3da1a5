import type { ArchivedPart, ArchivedUnit } from './ports.ts'

/** A unit and the part that holds it. */
export interface PlacedUnit {
  readonly unit: ArchivedUnit
  /** Index of the part. */
  readonly part: number
}

/**
 * Yields the units of parts in the order in which they entered the archive, which is nearly the order in which the pipeline
 * saw their events. Holds overlapping parts in memory.
 * @param parts in the order of their start
 */
export async function* unitsInOrder(
  parts: readonly ArchivedPart[],
  read: (part: ArchivedPart) => Promise<readonly ArchivedUnit[]>,
): AsyncGenerator<PlacedUnit> {
  let waiting: (PlacedUnit & { readonly ms: number })[] = []
  for (const [position, part] of parts.entries()) {
    const due = waiting.filter(({ ms }) => ms < part.firstMs)
    if (due.length > 0) {
      waiting = waiting.filter(({ ms }) => ms >= part.firstMs)
      yield* due
    }
    const units = await read(part)
    waiting.push(...units.map((unit) => ({ unit, part: position, ms: millisecondsOf(unit) })))
    waiting.sort(
      (a, b) => a.ms - b.ms || a.unit.partition - b.unit.partition || sequenceOf(a.unit) - sequenceOf(b.unit),
    )
  }
  yield* waiting
}

function millisecondsOf({ entry }: ArchivedUnit): number {
  return Number(entry.split('-')[0])
}

function sequenceOf({ entry }: ArchivedUnit): number {
  return Number(entry.split('-')[1])
}

/** Whether two units come from one stream entry. The tables count them together, so a round must hold both. */
export function isOfEntry(unit: ArchivedUnit, other: ArchivedUnit | undefined): other is ArchivedUnit {
  return other?.entry === unit.entry && other.partition === unit.partition
}

/**
 * Merges units of the same stream entry. An entry is in two parts when an hour began within it. If both parts belong to one
 * run, the second is a copy, and this skips it: a Redis that lost the end of its append-only file delivered the entry twice.
 */
export function merged(round: readonly PlacedUnit[], parts: readonly ArchivedPart[]): ArchivedUnit[] {
  const units: ArchivedUnit[] = []
  let partByRun = new Map<string, number>()
  for (const { unit, part } of round) {
    const last = units.at(-1)
    if (!isOfEntry(unit, last)) partByRun = new Map()
    const { run } = parts[part]!
    if ((partByRun.get(run) ?? part) !== part) continue
    partByRun.set(run, part)
    if (isOfEntry(unit, last) && last.day === unit.day && last.job === unit.job) {
      const [events, rejected] = [
        [...last.events, ...unit.events],
        [...last.rejected, ...unit.rejected],
      ]
      units[units.length - 1] = { ...last, events, rejected }
    } else units.push(unit)
  }
  return units
}
