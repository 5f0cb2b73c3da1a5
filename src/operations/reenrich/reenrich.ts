import { numbered } from '../../run/counted.ts'
import { StartupError, UnavailableError } from '../../run/errors.ts'
import { judge } from './judge.ts'
import type { Bucket, Change, EventReplacement, Selection, Staged, StoredEvents, TodaysData } from './ports.ts'
import { type ReenrichReport, ReportBuilder } from './report.ts'

/** Addresses that are judged together: what is kept of them in memory, here and in the database, is bounded by it. */
const BUCKET_ADDRESSES = 50_000
/** How often a part of the work that met with something else is done again. */
const ATTEMPTS = 5

export interface ReenrichParts {
  readonly events: StoredEvents
  readonly data: TodaysData
  /** Tells somebody who waits what goes on. */
  readonly say: (line: string) => void
  /** Default: 50,000. */
  readonly bucketAddresses?: number
}

export interface ReplacementParts extends ReenrichParts {
  readonly replacement: EventReplacement
  /** @throws when another process may be doing the same */
  readonly assertHeld: () => void
  /** An identity for this run, that no other one has. */
  readonly run: string
}

/**
 * What judging the selection again would change. Changes nothing.
 * @throws StartupError when a run was cut off: what is stored is a part
 */
export async function previewReenrich(selection: Selection, parts: ReenrichParts): Promise<ReenrichReport> {
  await assertReadable(parts.events)
  return (await judgeAll(selection, parts, async () => {})).report
}

/** @throws StartupError when a run was cut off: what is stored is a part */
export async function assertReadable(events: StoredEvents): Promise<void> {
  if ((await events.staged()) === undefined) return
  throw new StartupError(
    'a re-enrichment is going on or was cut off, and what is stored is a part: run it without --dry-run to finish it',
  )
}

/**
 * Judges stored events by today's data and replaces those that change. The numbers are those of a preview: both come of
 * the same pass, which ends before the first stored event is touched. A run that was cut off is finished before.
 */
export async function reenrich(selection: Selection, parts: ReplacementParts): Promise<ReenrichReport> {
  const { replacement, assertHeld, run, say } = parts
  if ((await finishReenrich(parts)) !== undefined) say('that was a re-enrichment that had been cut off; now this one')
  for (let attempt = 1; ; attempt++) {
    assertHeld()
    await replacement.begin(run)
    const { changed, report } = await judgeAll(selection, parts, async (bucket, changes) => {
      assertHeld()
      await replacement.stage(selection, bucket, run, changes)
    })
    if (changed === 0) {
      await replacement.discard()
      return report
    }
    // An event that was received before and stored between the two looks is in one of them only.
    if ((await replacement.stagedSoFar()) === changed) {
      assertHeld()
      await replacement.complete()
      await finishReenrich(parts)
      return report
    }
    if (attempt === ATTEMPTS) {
      await replacement.discard()
      throw new UnavailableError('events of these days are still being stored: try again; nothing was changed')
    }
    say('events were stored meanwhile: judging again')
  }
}

/**
 * Takes over a copy that was completed, by this run or by one that was cut off. Old events are removed first: a key then
 * finds all that has to go, whatever an attempt before has inserted, and nothing is ever counted twice.
 * @returns undefined when there was none
 */
export async function finishReenrich(
  parts: Pick<ReplacementParts, 'events' | 'replacement' | 'assertHeld' | 'say'>,
): Promise<Staged | undefined> {
  const { events, replacement, assertHeld, say } = parts
  const staged = await events.staged()
  if (staged === undefined) return undefined
  const slices = await replacement.slices()
  for (const [at, slice] of slices.entries()) {
    say(
      `replacing ${numbered(staged.events, 'event')} of tenant ${staged.tenantId}, part ${at + 1} of ${slices.length}`,
    )
    for (let attempt = 1; ; attempt++) {
      assertHeld()
      await replacement.remove(slice)
      assertHeld()
      await replacement.insert(slice)
      // An insert of an attempt that was cut off may have gone on behind our removal.
      if (await replacement.isThere(slice)) break
      if (attempt === ATTEMPTS) {
        throw new UnavailableError('the replaced events are not in their place: run the command again to finish it')
      }
    }
  }
  assertHeld()
  await replacement.countFiltered()
  assertHeld()
  await replacement.drop()
  return staged
}

/** @param take gets what changes, a bucket after the other; buckets without a change are left out */
async function judgeAll(
  selection: Selection,
  { events, data, say, bucketAddresses = BUCKET_ADDRESSES }: ReenrichParts,
  take: (bucket: Bucket, changes: readonly Change[]) => Promise<void>,
): Promise<{ readonly changed: number; readonly report: ReenrichReport }> {
  const builder = new ReportBuilder()
  const of = Math.max(1, Math.ceil((await events.addresses(selection)) / bucketAddresses))
  for (let index = 0; index < of; index++) {
    const bucket = { index, of }
    const changes = new Map<string, Change>()
    const addresses = new Set<string>()
    for await (const groups of events.groups(selection, bucket)) {
      for (const group of groups) {
        const judgement = judge(group, data)
        builder.add(group, judgement)
        if (judgement === undefined) continue
        addresses.add(group.ip)
        if (!judgement.isChange) continue
        const { ip, was } = group
        const { isNoise, filteredAs, values } = judgement
        changes.set(`${ip} ${was}`, { ip, was, isNoise, filteredAs, values })
      }
    }
    builder.countAddresses(addresses.size)
    if (changes.size > 0) await take(bucket, [...changes.values()])
    if (of > 1) say(`judged ${index + 1} of ${of} parts of the addresses`)
  }
  const report = await builder.finish((ids) => events.accountsAmong(selection.tenantId, ids))
  return { changed: builder.changed, report }
}
