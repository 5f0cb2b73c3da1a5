import type { SourceFacts } from '../../../schemas/api-key.ts'
import type { ListedSource, SourceDay } from '../../../schemas/dashboard/sources.ts'
import { FILTERED, filteredText, mostFirst } from '../../../schemas/filtered.ts'
import type { SourceTool } from '../../pipeline/declaration/source.ts'
import { countText } from '../../run/counted.ts'
import { isLoopbackHost } from '../../run/loopback.ts'
import type { StoredSource } from '../stores.ts'
import {
  healthOf,
  isOwnMachine,
  type JudgedSource,
  NO_COUNTS,
  OWN_MACHINE,
  type SourceCounts,
  type SourceEvents,
  sumOf,
} from './health.ts'
import { addressLineOf } from './setup.ts'

/**
 * A source and its health, for people.
 * @param tool of its kind; undefined: this version does not know the kind
 * @param counts of all sources of the tenant; undefined: ClickHouse cannot be asked
 * @param nowMs milliseconds since the epoch
 */
export function sourceReport(
  { prefix, tenantId, source, createdAt, lastUsed, revokedAt }: StoredSource,
  tool: SourceTool | undefined,
  counts: ReadonlyMap<string, SourceCounts> | undefined,
  nowMs: number,
): ListedSource {
  const own = counts && (counts.get(prefix) ?? NO_COUNTS)
  const facts = {
    source_id: prefix,
    kind: source.kind,
    title: tool?.title ?? source.kind,
    name: source.name ?? null,
    address: source.address,
    has_browser_key: source.browser_key !== undefined,
    has_server_key: source.pull === undefined && tool?.keys !== 'browser',
    created_at: createdAt,
    last_used: lastUsed ?? null,
    revoked_at: revokedAt ?? null,
  }
  if (own === undefined) {
    const state = revokedAt === undefined ? 'unknown' : 'revoked'
    return { ...facts, state, findings: [], ...NOTHING_KNOWN }
  }
  const judged: JudgedSource = {
    ...{ id: prefix, tenantId },
    group: tool?.group ?? 'libraries',
    address: source.address,
    lastUsedMs: lastUsed === undefined ? undefined : Date.parse(lastUsed),
    isRevoked: revokedAt !== undefined,
    repeatsByDesign: tool !== undefined && repeatsByDesign(source, tool),
    addressLine: tool && addressLineOf(tool),
    isOnThisMachine: source.base !== undefined && isLoopbackHost(new URL(source.base).host),
  }
  const { state, findings } = healthOf(judged, own, nowMs)
  return {
    ...facts,
    state,
    findings: findings.map(({ code = null, ...finding }) => ({ ...finding, code })),
    today: dayOf(own.today),
    last_event: own.lastEventMs === undefined ? null : new Date(own.lastEventMs).toISOString(),
    filtered_reasons: mostFirst(own.filteredToday).map(([by, events]) => ({
      reason: by,
      label: isOwnMachine(judged, by) ? 'from your own machine' : FILTERED[by].label,
      events,
    })),
    filtered_all: filteredAll(judged, own),
    rejected_reasons: own.rejectedReasons.map(({ reason, events }) => ({ reason, events })),
  }
}

const NOTHING_KNOWN = { today: null, last_event: null, filtered_reasons: [], filtered_all: null, rejected_reasons: [] }

/** What became of the events of today when all were filtered, such as the visits of a newcomer to their own page; null: some were not. */
function filteredAll(source: JudgedSource, { today, filteredToday }: SourceCounts): string | null {
  if (today.filtered === 0 || today.filtered < sumOf(today)) return null
  const [first, ...others] = mostFirst(filteredToday)
  const isOwn = first !== undefined && others.length === 0 && isOwnMachine(source, first[0])
  return `received, and filtered ${isOwn ? `because ${OWN_MACHINE}` : `as noise: ${filteredText(filteredToday)}`}`
}

function repeatsByDesign({ preset, map }: SourceFacts, { repeats = false, presets = [] }: SourceTool): boolean {
  // A source may map another id, which each log entry has alone.
  const shares = map?.event_id === undefined && presets.find(({ name }) => name === preset)?.sharesIds === true
  return repeats || shares
}

function dayOf(events: SourceEvents): SourceDay {
  const { stored, filtered, noIp, invalidIp, rejected, repeats } = events
  return {
    ...{ received: sumOf(events), stored, filtered, rejected, repeats },
    ...{ without_address: noIp, invalid_address: invalidIp },
  }
}

/** The events of today as lines of a terminal; empty when they are not known. */
export function todayPairs({ today }: Pick<ListedSource, 'today'>): (readonly [string, number])[] {
  if (today === null) return []
  return [
    ['today', today.received],
    ['filtered', today.filtered],
    ['no address', today.without_address],
    ['rejected', today.rejected],
  ]
}

/** What a terminal prints about a source besides its numbers: why events are filtered, then findings and their remedies. */
export function healthLines(
  report: Pick<ListedSource, 'source_id' | 'filtered_all' | 'filtered_reasons' | 'findings'>,
): string[] {
  const { source_id: id, filtered_all: all, filtered_reasons: reasons, findings } = report
  const noise = all ?? `filtered: ${reasons.map(({ label, events }) => `${countText(events)} ${label}`).join(', ')}`
  return [
    ...(reasons.length > 0 ? [`${id}: today ${noise}`] : []),
    ...findings.flatMap(({ text, mend, code }) => [`${id}: ${text} ${mend}`, ...(code === null ? [] : [`  ${code}`])]),
  ]
}
