import type { Segments } from '../companies/segments/segments.ts'
import { InputError } from '../run/errors.ts'
import type { RedisAlerts } from './redis/alert-store.ts'

/**
 * Removes a segment that no alert needs. If an alert is created at the same time, the evaluation pauses it.
 * @throws InputError when an alert needs it, or there is none
 */
export async function removeSegment(
  { segments, alerts }: { readonly segments: Segments; readonly alerts: Pick<RedisAlerts, 'list'> },
  tenantId: string,
  id: string,
): Promise<void> {
  const segment = await segments.get(tenantId, id)
  if (segment === undefined) throw new InputError('there is no such segment any more')
  const users = (await alerts.list(tenantId)).filter(({ segment_id: of }) => of === id).map(({ name }) => name)
  if (users.length > 0) {
    const needs = users.length === 1 ? `the alert ${users[0]} needs` : `the alerts ${users.join(', ')} need`
    throw new InputError(`${needs} segment ${segment.name}: remove ${users.length === 1 ? 'it' : 'them'} first`)
  }
  await segments.remove(tenantId, id)
}
