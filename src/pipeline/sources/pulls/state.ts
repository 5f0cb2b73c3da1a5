import { cutText } from '../../../run/cut-text.ts'
import type { Cursor, Pull } from '../../declaration/pull.ts'

/** The state of a source that ipid pulls, as JSON in Redis. Times are milliseconds since the epoch. */
export interface PullState {
  readonly cursor: Cursor
  /** Since the source was created. `lines` are those of events and `rejected` ones. */
  readonly counts: {
    readonly objects: number
    readonly refused: number
    readonly lines: number
    readonly rejected: number
  }
  /** Large items of which the first lines are in jobs already. At most `PARTIALS_MAX`, the newest last. */
  readonly partials: readonly { readonly id: string; readonly lines: number }[]
  /** The newest jobs. A crash may have left their receipts. */
  readonly jobs: readonly string[]
  /** Start of the run in progress. */
  readonly runningSinceMs?: number | undefined
  /** End of the last run. */
  readonly lastRunAtMs?: number | undefined
  readonly nextRunAtMs: number
  /** Why the run in progress waits. */
  readonly waitsFor?: string | undefined
  /** Runs that failed since the last one that did not. */
  readonly failures: number
  readonly error?: PullProblem | undefined
  /** The last item that cannot be read at all. */
  readonly refusal?: PullProblem | undefined
  /** The item at which the last runs failed, and when the first of them did, which a state of an earlier version lacks. */
  readonly stuck?: { readonly name: string; readonly failures: number; readonly sinceMs?: number } | undefined
  /** The last request of `PullAsk` that was taken up. */
  readonly asked?: string | undefined
}

/** A source reads one large item after another. More than one is open only when an earlier one appears meanwhile. */
export const PARTIALS_MAX = 20

export interface PullProblem {
  readonly message: string
  readonly atMs: number
}

const MESSAGE_CHARS_MAX = 2_000

/** @param message may quote a server's answer, of any length */
export function problemAt(message: string, atMs: number): PullProblem {
  return { message: cutText(message, MESSAGE_CHARS_MAX), atMs }
}

/** A request of a person. */
export interface PullAsk {
  readonly id: string
  /** Also fetch the past since this UTC day, `YYYY-MM-DD`. */
  readonly from?: string
}

/** The status of a source, for people and programs. Times are ISO 8601, UTC. */
export interface PullStatus {
  /** `new`: has not run yet. `failing`: its last run failed, and it tries again. */
  readonly status: 'new' | 'running' | 'waiting' | 'failing' | 'paused'
  /** One sentence. */
  readonly text: string
  readonly place: string
  readonly last_run: string | null
  readonly next_run: string | null
  readonly objects: number
  readonly refused: number
  readonly lines: number
  readonly rejected: number
  readonly last_error: { readonly message: string; readonly at: string } | null
  readonly last_refused: { readonly message: string; readonly at: string } | null
  /** Hours of a requested backfill that are not fetched yet. */
  readonly past: string | null
}

/** @param facts `SourceFacts.pull` of the source @param state undefined: it has not run yet */
export function pullStatusOf(
  pull: Pull,
  facts: { readonly settings: Readonly<Record<string, string>>; readonly paused?: boolean | undefined },
  state: PullState | undefined,
): PullStatus {
  const counts = state?.counts ?? { objects: 0, refused: 0, lines: 0, rejected: 0 }
  const paused = facts.paused === true
  const status = paused ? 'paused' : statusOf(state)
  return {
    status,
    text: textOf(status, state),
    place: pull.placeOf(facts.settings),
    last_run: isoTime(state?.lastRunAtMs),
    next_run: paused ? null : isoTime(state?.nextRunAtMs || undefined),
    ...counts,
    last_error: problemOf(state?.error),
    last_refused: problemOf(state?.refusal),
    past: (state && pull.pastOf(state.cursor)) ?? null,
  }
}

function statusOf(state: PullState | undefined): PullStatus['status'] {
  if (state === undefined) return 'new'
  if (state.failures > 0) return 'failing'
  if (state.runningSinceMs !== undefined) return 'running'
  return state.lastRunAtMs === undefined ? 'new' : 'waiting'
}

function textOf(status: PullStatus['status'], state: PullState | undefined): string {
  if (status === 'paused') return 'paused; "source resume" continues it'
  if (status === 'new') return 'has not run yet; it runs where the role batch runs'
  if (status === 'failing') return `failed ${times(state!.failures)}, and tries again: ${state!.error?.message ?? ''}`
  if (status === 'running') return state!.waitsFor === undefined ? 'is fetching' : `waits: ${state!.waitsFor}`
  if (state!.refusal !== undefined)
    return `is up to date; ${state!.counts.refused} refused, last: ${state!.refusal.message}`
  return 'is up to date'
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`
}

function problemOf(problem: PullProblem | undefined): PullStatus['last_error'] {
  return problem === undefined ? null : { message: problem.message, at: isoTime(problem.atMs)! }
}

function isoTime(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString()
}

/** The state of a source that has not run yet. */
export function firstState(pull: Pull, createdAtMs: number): PullState {
  const counts = { objects: 0, refused: 0, lines: 0, rejected: 0 }
  return { cursor: pull.begin(createdAtMs), counts, partials: [], jobs: [], nextRunAtMs: 0, failures: 0 }
}
