import { CancelReenrichmentBody, ReenrichmentBody } from '../../../../schemas/dashboard/reenrichments.ts'
import { reenrichmentOf } from '../../../operations/reenrich/jobs/job.ts'
import type { ReenrichJobs } from '../../../operations/reenrich/jobs/job-store.ts'
import type { Clock } from '../../../run/clock.ts'
import { InputError } from '../../../run/errors.ts'
import { type DashboardRoute, json, route } from '../route.ts'
import { authorOf } from '../sessions.ts'

export interface ReenrichmentDependencies {
  readonly reenrichments: Pick<ReenrichJobs, 'read' | 'request' | 'cancel'> & {
    /** Whether the tables support these jobs. */
    readonly isSupported: boolean
    /** @throws InputError when they do not */
    assertSupported(): Promise<void>
  }
  readonly clock: Clock
}

const PATH = '/api/tenants/:tenant/reenrichments'

const REFUSALS = {
  'too late': 'the job replaces events now, and ends soon: it cannot be cancelled any more',
  unknown: 'this job has ended',
} as const

/** Jobs that apply rules to stored events (src/operations/reenrich/README.md). */
export function reenrichmentRoutes({ reenrichments, clock }: ReenrichmentDependencies): DashboardRoute[] {
  const answer = async (tenantId: string) => {
    const { job, waiting } = await reenrichments.read(tenantId)
    const nowMs = clock.now()
    return json({
      job: job ? reenrichmentOf(job, nowMs) : null,
      waiting: waiting ? reenrichmentOf(waiting, nowMs) : null,
    })
  }
  return [
    route({ method: 'GET', path: PATH, handle: ({ tenant }) => answer(tenant.id) }),
    route({
      method: 'POST',
      path: PATH,
      body: ReenrichmentBody,
      async handle({ tenant, session, body: { rules, past } }) {
        const missing = rules.find((rule) => !tenant.rules?.includes(rule))
        if (missing !== undefined) throw new InputError(`tenant ${tenant.id} has no rule "${missing}"`)
        await reenrichments.assertSupported()
        const job = await reenrichments.request(tenant.id, {
          ...{ rules, unclassified: false, days: past.days },
          requestedBy: authorOf(session),
          requestedAtMs: clock.now(),
        })
        return json(reenrichmentOf(job, clock.now()))
      },
    }),
    route({
      method: 'POST',
      path: `${PATH}/cancel`,
      body: CancelReenrichmentBody,
      async handle({ tenant, body }) {
        const found = await reenrichments.cancel(tenant.id, body.job_id)
        if (found === 'too late' || found === 'unknown') throw new InputError(REFUSALS[found])
        return await answer(tenant.id)
      },
    }),
  ]
}
