import { Link } from 'wouter-preact'
import type { AccountsOfMonthAnswer, PlanAnswer } from '../../../../../schemas/dashboard/plan.ts'
import { Meter } from '../../design/details.tsx'
import { Problem } from '../../design/notice.tsx'
import { Section } from '../../design/page.tsx'
import { Stat, Stats } from '../../design/stat.tsx'
import { Time } from '../../design/time.tsx'
import { number } from '../../lib/format.ts'
import { NEAR_LIMIT } from '../../lib/plan-sentence.ts'
import { useSession } from '../../lib/session.ts'
import { useData } from '../../lib/use-data.ts'

/** The plan of a tenant, its limits and their use. */
export function Plan({ tenant }: { readonly tenant: string }) {
  const { role } = useSession()
  const plan = useData<PlanAnswer>(`/api/tenants/${tenant}/plan`)
  const accounts = useData<AccountsOfMonthAnswer>(`/api/tenants/${tenant}/accounts-of-month`)
  if (plan.error !== undefined) return <Problem error={plan.error} onRetry={plan.reload} />
  const { limits, lookups_today: lookups } = plan.value ?? {}
  const { tracked_accounts: tracked, passed_at: passedAt = null } = accounts.value ?? {}
  return (
    <Section title="Plan and limits">
      <Stats>
        <Stat label="Plan" value={plan.value?.plan ?? '…'}>
          {plan.value?.exists === false && 'This plan no longer exists: the limits of starter apply. '}
          {role === 'operator' ? <Link href="/tenants">Change it</Link> : 'An operator can change it.'}
        </Stat>
        <Stat label="Requests per second" value={limits ? number(limits.rate) : '…'}>
          {limits && `and ${number(limits.burst)} at once`}
        </Stat>
        <Stat
          label="Lookups today (UTC)"
          value={lookups === undefined ? '…' : number(lookups)}
          unit={limits && `of ${number(limits.daily_lookups)}`}
        >
          {limits && lookups !== undefined && (
            <>
              <Meter label="Lookups of the plan" value={lookups} max={limits.daily_lookups} warnFrom={NEAR_LIMIT} />
              the next day begins <Time at={plan.value!.resets_at} />
            </>
          )}
        </Stat>
        <Stat
          label="Tracked accounts this month (UTC)"
          value={accounts.error ? '–' : tracked === undefined ? '…' : number(tracked)}
          unit={limits && `of ${number(limits.monthly_accounts)}`}
        >
          {accounts.error?.message ??
            (limits && tracked !== undefined && (
              <>
                <Meter
                  label="Tracked accounts of the plan"
                  value={tracked}
                  max={limits.monthly_accounts}
                  warnFrom={NEAR_LIMIT}
                />
                companies with an event received this month
                {passedAt !== null && (
                  <>
                    , passed <Time at={passedAt} />; events are still accepted
                  </>
                )}
              </>
            ))}
        </Stat>
      </Stats>
    </Section>
  )
}
