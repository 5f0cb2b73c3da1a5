import type { Segments } from '../companies/segments/segments.ts'
import type { RedisExports } from '../exports/redis/export-store.ts'
import { InputError } from '../run/errors.ts'
import { type Alert, isAlert, isDigest } from './redis/alert-store.ts'

interface SegmentUsers {
  readonly segments: Segments
  /** Alerts of a tenant, and subscriptions to its digest. */
  readonly records: (tenantId: string) => Promise<readonly Alert[]>
  readonly exports: Pick<RedisExports, 'list'>
  /** Connections to a CRM. */
  readonly crm: {
    readonly list: (tenantId: string) => Promise<readonly { readonly name: string; readonly segment_id?: string }[]>
  }
}

/**
 * Removes a segment that no alert, no export and no CRM needs. If one is created at the same time, it is paused later; a CRM stops.
 * @throws InputError when one needs it, or there is none
 */
export async function removeSegment(
  { segments, records, exports, crm }: SegmentUsers,
  tenantId: string,
  id: string,
): Promise<void> {
  const segment = await segments.get(tenantId, id)
  if (segment === undefined) throw new InputError('there is no such segment any more')
  const namesOf = (all: readonly { readonly name: string; readonly segment_id?: string }[]) =>
    all.filter(({ segment_id: of }) => of === id).map(({ name }) => name)
  const known = await records(tenantId)
  for (const [kind, users] of [
    ['alert', namesOf(known.filter(isAlert))],
    ['digest', namesOf(known.filter(isDigest).map((digest) => ({ ...digest, name: `for ${digest.target}` })))],
    ['export', namesOf(await exports.list(tenantId))],
    ['connection to', namesOf(await crm.list(tenantId))],
  ] as const) {
    if (users.length === 0) continue
    const needs = users.length === 1 ? `the ${kind} ${users[0]} needs` : `the ${kind}s ${users.join(', ')} need`
    throw new InputError(`${needs} segment ${segment.name}: remove ${users.length === 1 ? 'it' : 'them'} first`)
  }
  await segments.remove(tenantId, id)
}
