import { Link } from 'wouter-preact'
import type { AccountsOfMonthAnswer, PlanAnswer } from '../../../../../schemas/dashboard/plan.ts'
import { Meter } from '../../design/details.tsx'
import { Problem } from '../../design/notice.tsx'
import { Section } from '../../design/page.tsx'
import { Stat, Stats } from '../../design/stat.tsx'
import { Time } from '../../design/time.tsx'
import { withUtc } from '../../lib/day-clock.ts'
import { number } from '../../lib/format.ts'
import { NEAR_LIMIT } from '../../lib/plan-sentence.ts'
import { useSession } from '../../lib/session.ts'
import { useData } from '../../lib/use-data.ts'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.settings.plan

/** The plan of a tenant, its limits and their use. */
export function Plan({ tenant }: { readonly tenant: string }) {
  const { role } = useSession()
  const plan = useData<PlanAnswer>(`/api/tenants/${tenant}/plan`)
  const accounts = useData<AccountsOfMonthAnswer>(`/api/tenants/${tenant}/accounts-of-month`)
  if (plan.error !== undefined) return <Problem error={plan.error} onRetry={plan.reload} />
  const { limits, lookups_today: lookups } = plan.value ?? {}
  const { tracked_accounts: tracked, passed_at: passedAt = null } = accounts.value ?? {}
  return (
    <Section title={texts.title}>
      <Stats>
        <Stat label={texts.plan} value={plan.value?.plan ?? '…'}>
          {plan.value?.exists === false && `${texts.gone} `}
          {role === 'operator' ? <Link href="/tenants">{texts.change}</Link> : texts.operatorCan}
        </Stat>
        <Stat label={texts.perSecond} value={limits ? number(limits.rate) : '…'}>
          {limits && texts.atOnce(number(limits.burst))}
        </Stat>
        <Stat
          label={withUtc(texts.lookups)}
          value={lookups === undefined ? '…' : number(lookups)}
          unit={limits && texts.ofLimit(number(limits.daily_lookups))}
        >
          {limits && lookups !== undefined && (
            <>
              <Meter label={texts.lookupsOfPlan} value={lookups} max={limits.daily_lookups} warnFrom={NEAR_LIMIT} />
              {texts.nextDay(<Time at={plan.value!.resets_at} />)}
            </>
          )}
        </Stat>
        <Stat
          label={withUtc(texts.accounts)}
          value={accounts.error ? '–' : tracked === undefined ? '…' : number(tracked)}
          unit={limits && texts.ofLimit(number(limits.monthly_accounts))}
        >
          {accounts.error?.message ??
            (limits && tracked !== undefined && (
              <>
                <Meter
                  label={texts.accountsOfPlan}
                  value={tracked}
                  max={limits.monthly_accounts}
                  warnFrom={NEAR_LIMIT}
                />
                {passedAt === null ? texts.tracked : texts.trackedPassed(<Time at={passedAt} />)}
              </>
            ))}
        </Stat>
      </Stats>
    </Section>
  )
}
