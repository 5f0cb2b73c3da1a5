import type { ExportProblem, ExportsStatus } from '../operations/status/system-status.ts'
import type { RedisClient } from '../stores/redis/connect.ts'
import { RedisTenantStore } from '../tenants/redis/tenant-store.ts'
import { zonesOf } from '../tenants/tenancy.ts'
import { RedisExports } from './redis/export-store.ts'
import { openSince } from './schedule.ts'

const SHOWN_MAX = 20
/** Longer than reading and writing one file takes. */
const LATE_MS = 900_000

/** Exports of all tenants: the failing ones and the late ones. */
export async function readExports(client: RedisClient, nowMs: number): Promise<ExportsStatus> {
  const exports = new RedisExports(client)
  const zoneOf = zonesOf(new RedisTenantStore(client))
  const problems: ExportProblem[] = []
  let count = 0
  for (const tenantId of await exports.tenants()) {
    const zone = await zoneOf(tenantId)
    const found = await exports.list(tenantId)
    count += found.length
    const states = found.map(async (one) => {
      const [state, askedMs] = await Promise.all([exports.state(one.id), exports.asked(one.id)])
      const sinceMs = openSince(one, state, askedMs, nowMs, zone)
      const error = one.paused === undefined ? state.error : undefined
      if (error === undefined && nowMs - (sinceMs ?? nowMs) < LATE_MS) return []
      const open_since = sinceMs === undefined ? null : new Date(sinceMs).toISOString()
      const { failures } = state
      return [{ tenant_id: tenantId, name: one.name, open_since, failures, error: error?.message ?? null }]
    })
    problems.push(...(await Promise.all(states)).flat())
  }
  const failed = problems.filter(({ error }) => error !== null)
  const late = problems.filter(({ error }) => error === null)
  return { count, failed: failed.length, late: late.length, worst: [...failed, ...late].slice(0, SHOWN_MAX) }
}
