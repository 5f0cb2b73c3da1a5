import type { SourceFacts } from '../../../schemas/api-key.ts'
import type { ListedSource, SourceDay } from '../../../schemas/dashboard/sources.ts'
import type { SourceTool } from '../../pipeline/declaration/source.ts'
import type { StoredSource } from '../stores.ts'
import { healthOf, NO_COUNTS, type SourceCounts, type SourceEvents, sumOf } from './health.ts'
import { addressLineOf } from './setup.ts'

/**
 * A source and its health, for people.
 * @param tool of its kind; undefined: this version does not know the kind
 * @param counts of all sources of the tenant; undefined: ClickHouse cannot be asked
 * @param nowMs milliseconds since the epoch
 */
export function sourceReport(
  { prefix, source, createdAt, lastUsed, revokedAt }: StoredSource,
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
    return { ...facts, state, findings: [], today: null, last_event: null, rejected_reasons: [] }
  }
  const judged = {
    group: tool?.group ?? ('libraries' as const),
    address: source.address,
    lastUsedMs: lastUsed === undefined ? undefined : Date.parse(lastUsed),
    isRevoked: revokedAt !== undefined,
    repeatsByDesign: tool !== undefined && repeatsByDesign(source, tool),
    addressLine: tool && addressLineOf(tool),
  }
  const { state, findings } = healthOf(judged, own, nowMs)
  return {
    ...facts,
    state,
    findings: findings.map(({ code = null, ...finding }) => ({ ...finding, code })),
    today: dayOf(own.today),
    last_event: own.lastEventMs === undefined ? null : new Date(own.lastEventMs).toISOString(),
    rejected_reasons: own.rejectedReasons.map(({ reason, events }) => ({ reason, events })),
  }
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
