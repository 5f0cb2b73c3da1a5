/** Whether events came with live requests or with a batch job. */
type PartSource = 'ingest' | 'batch'

/** Folder and name of a part of the archive. */
export interface PartLocation {
  readonly tenantId: string
  /** UTC day of receipt, `2026-11-22`. */
  readonly day: string
  readonly source: PartSource
  /** The id of the batch job; for live events the UTC hour of receipt, `2026-11-22T01`. */
  readonly run: string
  /** See `partName`. */
  readonly name: string
}

const SEQUENCE_DIGITS = 6

/**
 * Names a part after its first entry. An entry has events in only one part of a tenant and run, so names are distinct, and a repeated
 * write replaces the same object. Names sort by time of receipt.
 * @param id of the entry, `milliseconds-sequence`
 */
export function partName(id: string, partition: number): string {
  const [ms, sequence] = id.split('-')
  return `part-${ms}-${sequence!.padStart(SEQUENCE_DIGITS, '0')}-p${partition}`
}

/** When the first entry of a part was written, Unix milliseconds. */
export function partStart(name: string): number {
  return Number(name.split('-')[1])
}

/** Prefix of the keys of a tenant's events. */
export function tenantDays(tenantId: string): string {
  return `tenant=${tenantId}/`
}

/** Prefix of the keys of a tenant's events of a day. */
export function tenantDay(tenantId: string, day: string): string {
  return `${tenantDays(tenantId)}day=${day}/`
}

/** The events of a part: NDJSON, gzip. */
export function partKey(location: PartLocation): string {
  return `${folderOf(location)}/${location.name}.ndjson.gz`
}

/** The index of a part, see `PartIndex`. */
export function indexKey(location: PartLocation): string {
  return `index/${folderOf(location)}/${location.name}.json.gz`
}

function folderOf({ tenantId, day, source, run }: PartLocation): string {
  return `${tenantDay(tenantId, day)}source=${source}/run=${run}`
}

const KEY =
  /^(?:index\/)?tenant=([a-z0-9-]+)\/day=(\d{4}-\d\d-\d\d)\/source=(ingest|batch)\/run=([\w-]+)\/(part-[\w-]+)\.(?:nd)?json\.gz$/

/** The place that a key of either sort names; undefined for any other object. */
export function parsePartKey(key: string): PartLocation | undefined {
  const [, tenantId, day, source, run, name] = KEY.exec(key) ?? []
  if (name === undefined) return undefined
  return { tenantId: tenantId!, day: day!, source: source as PartSource, run: run!, name }
}
