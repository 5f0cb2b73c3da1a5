import type { TenantCopy } from '../../../schemas/backup.ts'
import type { Pipeline } from '../../pipeline/declaration/pipeline.ts'

/** The records that open an instance or send something out of it. A person reviews them before and after a restore. */
export interface BackupContents {
  readonly keys: readonly {
    readonly tenant_id: string
    readonly prefix: string
    readonly created_at: string
    /** ISO 8601, UTC; null: never. */
    readonly last_used: string | null
    readonly revoked_at: string | null
  }[]
  readonly sources: readonly {
    readonly tenant_id: string
    readonly source_id: string
    readonly kind: string
    /** The place that ipid fetches from; null: senders come by themselves. */
    readonly place: string | null
    /** Address of the API in the text to paste for its senders; null: that of the instance. */
    readonly base: string | null
    readonly created_at: string
    readonly last_used: string | null
    readonly revoked_at: string | null
  }[]
  readonly alerts: readonly {
    readonly tenant_id: string
    readonly alert_id: string
    readonly name: string
    readonly to: string
    readonly target: string
  }[]
  /** They get companies, and are read. */
  readonly crms: readonly { readonly tenant_id: string; readonly kind: string; readonly connected_by: string }[]
  /** They go to the archive of the instance. */
  readonly exports: readonly { readonly tenant_id: string; readonly export_id: string; readonly name: string }[]
}

export async function readContents(
  portions: AsyncIterable<readonly TenantCopy[]>,
  { sources }: Pick<Pipeline, 'sources'>,
): Promise<BackupContents> {
  type Lists = { -readonly [name in keyof BackupContents]: BackupContents[name][number][] }
  const found: Lists = { keys: [], sources: [], alerts: [], crms: [], exports: [] }
  for await (const tenants of portions) {
    for (const { id: tenant_id, keys, alerts = {}, exports = {}, crm } of tenants) {
      for (const { record, used_ms } of keys) {
        const { prefix, created_at, revoked_at = null, source } = record
        const facts = { created_at, last_used: used_ms === null ? null : new Date(used_ms).toISOString(), revoked_at }
        if (source === undefined) found.keys.push({ tenant_id, prefix, ...facts })
        else {
          const pull = sources.find(({ from }) => from.name === source.kind)?.from.pull
          const place = source.pull && (pull?.placeOf(source.pull.settings) ?? JSON.stringify(source.pull.settings))
          const { kind, base = null } = source
          found.sources.push({ tenant_id, source_id: prefix, kind, place: place ?? null, base, ...facts })
        }
      }
      for (const [alert_id, { name, to, target }] of Object.entries(alerts)) {
        found.alerts.push({ tenant_id, alert_id, name, to, target })
      }
      if (crm !== undefined) found.crms.push({ tenant_id, kind: crm.kind, connected_by: crm.connected_by })
      for (const [export_id, { name }] of Object.entries(exports)) found.exports.push({ tenant_id, export_id, name })
    }
  }
  return found
}
