import { numbered } from '../../run/counted.ts'
import { StartupError, UnavailableError } from '../../run/errors.ts'
import { type Judgement, judge } from './judge.ts'
import type {
  Change,
  EventReplacement,
  Group,
  Portion,
  RowPlace,
  Run,
  Selection,
  Staged,
  StoredEvents,
  TodaysData,
} from './ports.ts'
import { type ReenrichReport, ReportBuilder } from './report.ts'

/** Addresses of a bucket. Bounds memory, here and in ClickHouse. */
const BUCKET_ADDRESSES = 50_000
/** Attempts when other statements interfere. */
const ATTEMPTS = 5

interface ReenrichOptions {
  readonly events: StoredEvents
  readonly data: TodaysData
  /** Reports progress to a waiting user. */
  readonly say: (line: string) => void
  /** Default: 50,000. */
  readonly bucketAddresses?: number
  /** Hidden events to judge. Default: those of the selection. */
  readonly hidden?: Selection
  /** Whether to judge a group. Default: all. */
  readonly isInScope?: (group: Group) => boolean
  /** Default: by the data. */
  readonly judged?: (group: Group) => Judgement | undefined
  /** Called between two pieces of work, when nothing is half done. It may wait, and ends the run if it throws. */
  readonly checkpoint?: (progress: ReenrichProgress) => Promise<void>
}

/** The state of a run. A copy that an earlier run left may be replaced first. */
export type ReenrichProgress =
  | { readonly step: 'judging'; readonly events: number }
  | { readonly step: 'replacing'; readonly run: string; readonly slices: number; readonly slicesDone: number }

interface ReplacementOptions extends ReenrichOptions {
  readonly replacement: EventReplacement
  /** @throws when another process may have started to rewrite events */
  readonly assertHeld: () => void
  readonly run: Run
  /** Called with the final report, before the first event changes. */
  readonly onJudged?: (report: ReenrichReport) => Promise<void>
  /** Called when all events of a copy are replaced, before the copy is dropped. After a crash it may be called again. */
  readonly onReplaced?: (staged: Staged) => Promise<void>
}

/**
 * Reports the changes that a reenrichment would make. Changes nothing.
 * @throws StartupError when an earlier run did not finish, so that the table lacks events
 */
export async function previewReenrich(selection: Selection, parts: ReenrichOptions): Promise<ReenrichReport> {
  await assertReadable(parts.events)
  return (await judgeAll(selection, parts, async () => {})).report
}

/** @throws StartupError when an earlier run did not finish, so that the table lacks events */
export async function assertReadable(events: StoredEvents): Promise<void> {
  if ((await events.staged()) === undefined) return
  throw new StartupError(
    'a re-enrichment is running or did not finish, so the table lacks events: run it without --dry-run to finish it',
  )
}

/**
 * Enriches stored events with today's data and replaces those that change. First finishes an earlier run that was killed. The
 * report equals that of a preview: the same pass makes both, before the first event changes.
 */
export async function reenrich(selection: Selection, parts: ReplacementOptions): Promise<ReenrichReport> {
  const { replacement, assertHeld, run, say } = parts
  if ((await finishReenrich(parts)) !== undefined) say('finished an earlier re-enrichment; starting this one')
  for (let attempt = 1; ; attempt++) {
    assertHeld()
    await replacement.begin()
    const { changed, report } = await judgeAll(selection, parts, async (portion, changes) => {
      assertHeld()
      await replacement.stage(portion, run, changes)
    })
    if (changed === 0) {
      await replacement.discard()
      await parts.onJudged?.(report)
      return report
    }
    // The numbers differ when an event was stored between reading the groups and making the copy.
    if ((await replacement.stagedSoFar()) === changed) {
      await parts.onJudged?.(report)
      assertHeld()
      await replacement.complete()
      await finishReenrich(parts)
      return report
    }
    if (attempt === ATTEMPTS) {
      await replacement.discard()
      throw new UnavailableError('events of these days are still being stored: try again; nothing was changed')
    }
    say('events were stored meanwhile: starting over')
  }
}

/**
 * Replaces stored events with those of a complete copy, of this run or of one that was killed. Removes first: the keys then
 * match old events and those of an earlier attempt, and no event ever counts twice.
 * @returns undefined when there was no copy
 */
export async function finishReenrich(
  parts: Pick<ReplacementOptions, 'events' | 'replacement' | 'assertHeld' | 'say' | 'checkpoint' | 'onReplaced'>,
): Promise<Staged | undefined> {
  const { events, replacement, assertHeld, say } = parts
  const staged = await events.staged()
  if (staged === undefined) return undefined
  const slices = await replacement.slices()
  const { run } = staged
  for (const [at, slice] of slices.entries()) {
    await parts.checkpoint?.({ step: 'replacing', run, slices: slices.length, slicesDone: at })
    say(
      `replacing ${numbered(staged.events, 'event')} of tenant ${staged.tenantId}, part ${at + 1} of ${slices.length}`,
    )
    for (let attempt = 1; ; attempt++) {
      assertHeld()
      await replacement.remove(slice)
      assertHeld()
      await replacement.insert(slice)
      // An insert of a killed attempt may have continued after our removal.
      if (await replacement.isInserted(slice)) break
      if (attempt === ATTEMPTS) {
        throw new UnavailableError('the table lacks some of the replaced events: run the command again to finish it')
      }
    }
  }
  assertHeld()
  await replacement.countFiltered()
  await parts.onReplaced?.(staged)
  assertHeld()
  await replacement.drop()
  return staged
}

/** @param take gets the changes of one bucket after the other; buckets without a change are skipped */
async function judgeAll(
  selection: Selection,
  options: ReenrichOptions,
  take: (portion: Portion, changes: readonly Change[]) => Promise<void>,
): Promise<{ readonly changed: number; readonly report: ReenrichReport }> {
  const { events, data, say, bucketAddresses = BUCKET_ADDRESSES, hidden = selection, isInScope, checkpoint } = options
  const judged = options.judged ?? ((group: Group) => judge(group, data))
  const builder = new ReportBuilder()
  const places: readonly (readonly [RowPlace, Selection])[] = [
    ['events', { ...selection, botAgents: await events.botAgents(selection, 'events') }],
    ['hidden', { ...hidden, botAgents: await events.botAgents(hidden, 'hidden') }],
  ]
  let seen = 0
  const of = Math.max(1, Math.ceil((await events.addresses(selection, hidden)) / bucketAddresses))
  for (let index = 0; index < of; index++) {
    const bucket = { index, of }
    const addresses = new Set<string>()
    for (const [from, asked] of places) {
      const changes = new Map<string, Change>()
      for await (const groups of events.groups(asked, bucket, from)) {
        for (const group of groups) {
          seen += group.events
          if (isInScope !== undefined && !isInScope(group)) continue
          const judgement = judged(group)
          builder.add(group, judgement)
          if (judgement === undefined) continue
          addresses.add(group.ip)
          if (!judgement.isChange) continue
          const { ip, was } = group
          const { to, hiding, classification, values } = judgement
          changes.set(`${ip} ${was}`, { ip, was, to, hiding, classification, values })
        }
        await checkpoint?.({ step: 'judging', events: seen })
      }
      if (changes.size > 0) await take({ selection: asked, bucket, from }, [...changes.values()])
    }
    builder.countAddresses(addresses.size)
    if (of > 1) say(`judged part ${index + 1} of ${of} of the addresses`)
  }
  const report = await builder.finish((ids) => events.accountsAmong(selection.tenantId, ids))
  return { changed: builder.changed, report }
}
