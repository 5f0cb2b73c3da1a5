import type { Judgement, LiveEvent, LiveReport } from '../../../../schemas/live-event.ts'
import { TEXTS } from '../texts/texts.ts'

const texts = TEXTS.lib.liveTail

const KEPT_MAX = 500
const RATE_MS = 5_000

/** An event with a unique number. */
export interface TailEvent extends LiveEvent {
  readonly number: number
}

/** Events that arrived while the page was open. */
export interface Tail {
  /** Newest first. */
  readonly events: readonly TailEvent[]
  readonly frames: readonly { readonly atMs: number; readonly all: number; readonly shown: number }[]
  readonly next: number
  /** Events since the pause. */
  readonly missed: number
}

export const NO_TAIL: Tail = { events: [], frames: [], next: 0, missed: 0 }

/** @param isPaused only counts events, so that the page does not move */
export function withFrame(tail: Tail, { totals, events: received }: LiveReport, atMs: number, isPaused = false): Tail {
  const { events, frames, next, missed } = tail
  const more = isPaused ? [] : received
  const numbered = more.map((event, i) => ({ ...event, number: next + i })).reverse()
  const all = totals.ok + totals.filtered + totals.invalid_ip
  return {
    events: [...numbered, ...events].slice(0, KEPT_MAX),
    frames: [...frames.filter((frame) => frame.atMs > atMs - RATE_MS), { atMs, all, shown: more.length }],
    next: next + more.length,
    missed: isPaused ? missed + all : 0,
  }
}

/** Events per second over the last 5 s, and how many of them are shown. */
export function rateOf({ frames }: Tail, nowMs: number): { readonly all: number; readonly shown: number } {
  const recent = frames.filter(({ atMs }) => atMs > nowMs - RATE_MS)
  const sum = (of: 'all' | 'shown') => recent.reduce((total, frame) => total + frame[of], 0) / (RATE_MS / 1_000)
  return { all: sum('all'), shown: sum('shown') }
}

const NETWORKS: Readonly<Record<string, string>> = texts.networks

/** The reason of an event's status. */
export function whyOf({ status, classification, rule, filtered_as, company }: Judgement): string {
  if (status === 'invalid_ip') return texts.noAddress
  if (rule !== null) return texts.yourRule(rule)
  if (filtered_as?.startsWith('bot:')) return botWhy(filtered_as)
  if (filtered_as === 'unclassified') return texts.noType
  if (status === 'filtered' && classification === 'reserved') return texts.reserved
  if (status === 'filtered') return NETWORKS[classification ?? ''] ?? texts.infrastructure
  return company === null ? texts.unknownNetwork : texts.companyNetwork
}

/** @param reason `bot:googlebot:verified` */
function botWhy(reason: string): string {
  const [, name, ...marks] = reason.split(':')
  const who = name === 'other' ? texts.aBot : marks.includes('assistant') ? texts.assistant(name!) : texts.bot(name!)
  return marks.at(-1) === 'verified' ? texts.addressOf(who) : texts.userAgentOf(who)
}
