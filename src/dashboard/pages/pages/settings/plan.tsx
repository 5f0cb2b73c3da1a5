import type { ComponentChildren } from 'preact'
import { Link } from 'wouter-preact'
import type { AccountsOfMonthAnswer, PlanAnswer } from '../../../../../schemas/dashboard/plan.ts'
import { Problem } from '../../components/notes.tsx'
import { Time } from '../../components/time.tsx'
import { number } from '../../lib/format.ts'
import { useSession } from '../../lib/session.ts'
import { useData } from '../../lib/use-data.ts'

/** The plan of a tenant, its limits and their use. */
export function Plan({ tenant }: { readonly tenant: string }) {
  const { role } = useSession()
  const plan = useData<PlanAnswer>(`/api/tenants/${tenant}/plan`)
  const accounts = useData<AccountsOfMonthAnswer>(`/api/tenants/${tenant}/accounts-of-month`)
  if (plan.error !== undefined) return <Problem error={plan.error} onRetry={plan.reload} />
  const { limits } = plan.value ?? {}
  return (
    <section aria-labelledby="plan-heading">
      <h2 id="plan-heading">Plan and limits</h2>
      <div class="cards">
        <Figure label="Plan" value={plan.value?.plan}>
          {plan.value?.exists === false
            ? 'This plan no longer exists: the limits of starter apply.'
            : role !== 'operator' && 'An operator can change it.'}{' '}
          {role === 'operator' && <Link href="/tenants">Change it</Link>}
        </Figure>
        <Figure label="Requests a second" value={limits && number(limits.rate)}>
          {limits && `and ${number(limits.burst)} at once`}
        </Figure>
        <Figure label="Lookups today (UTC)" value={plan.value && number(plan.value.lookups_today)}>
          {limits && (
            <>
              of {number(limits.daily_lookups)}; the next day begins <Time at={plan.value!.resets_at} />
            </>
          )}
        </Figure>
        <Figure
          label="Tracked accounts this month (UTC)"
          value={accounts.error ? '–' : accounts.value && number(accounts.value.tracked_accounts)}
        >
          {accounts.error?.message ??
            (limits && accounts.value && (
              <>
                of {number(limits.monthly_accounts)}: companies with an event received this month
                {accounts.value.passed_at !== null && (
                  <>
                    , passed <Time at={accounts.value.passed_at} />; events are still accepted
                  </>
                )}
              </>
            ))}
        </Figure>
      </div>
    </section>
  )
}

/** A number with its label. Keeps its space while the number loads. */
function Figure({
  label,
  value,
  children,
}: {
  readonly label: string
  readonly value: string | undefined
  readonly children?: ComponentChildren
}) {
  return (
    <div class="card limit">
      <p class="soft">{label}</p>
      <p class="figure">{value ?? '…'}</p>
      <p class="soft">{children}</p>
    </div>
  )
}
