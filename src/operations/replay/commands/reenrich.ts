import { randomUUID } from 'node:crypto'
import type { TenantRules } from '../../../../schemas/tenant-rules.ts'
import type { TodaysData } from '../../../enrichment/todays-data.ts'
import { COMMAND_LINE } from '../../../run/authors.ts'
import type { ClickHouseReenrichment } from '../../reenrich/clickhouse.ts'
import { judgedBy } from '../../reenrich/judge.ts'
import type { Staged } from '../../reenrich/ports.ts'
import { previewReenrich, reenrich } from '../../reenrich/reenrich.ts'
import type { ReenrichReport } from '../../reenrich/report.ts'

/** Arguments of `ipid replay --reenrich`. */
interface ReenrichRequest {
  readonly tenantId: string
  /** Rules of the tenant. */
  readonly rules: TenantRules
  /** UTC days of receipt, `YYYY-MM-DD`, both included. */
  readonly from: string
  readonly to: string
  readonly dryRun: boolean
  /** Only events of this batch job. */
  readonly job?: string | undefined
}

interface ReenrichTools {
  readonly todays: TodaysData
  readonly events: ClickHouseReenrichment
  readonly assertHeld: () => void
  readonly onReplaced?: (staged: Staged) => Promise<void>
  readonly say: (line: string) => void
}

export interface ReenrichResult extends ReenrichReport {
  readonly tenant_id: string
  readonly from: string
  readonly to: string
  readonly dry_run: boolean
  /** Later events are unchanged, ISO 8601 UTC. */
  readonly received_until: string
  /** The data sets that judged, in order of trust. */
  readonly data: readonly string[]
}

/**
 * Enriches stored events with today's data and, unless it is a dry run, replaces those that change. First finishes an earlier
 * run that was killed.
 * @param say reports progress to a waiting user
 * @param assertHeld throws when another process may replace stored events; not called in a dry run
 */
export async function runReenrich(
  request: ReenrichRequest,
  { todays, events, assertHeld, onReplaced, say }: ReenrichTools,
): Promise<ReenrichResult> {
  const { tenantId, rules, from, to, job, dryRun } = request
  const data = judgedBy(todays, rules)
  const receivedUntilMs = Date.now()
  const selection = { tenantId, from, to, job, receivedUntilMs }
  const report = dryRun
    ? await previewReenrich(selection, { events, data, say })
    : await reenrich(selection, {
        events,
        replacement: events,
        assertHeld,
        onReplaced,
        data,
        say,
        run: { id: randomUUID(), by: COMMAND_LINE },
      })
  return {
    tenant_id: tenantId,
    from,
    to,
    dry_run: dryRun,
    received_until: new Date(receivedUntilMs).toISOString(),
    data: todays.names,
    ...report,
  }
}
