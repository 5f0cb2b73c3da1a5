import type { PlanUsage } from '../../../../../schemas/dashboard/overview.ts'
import { Meter } from '../../design/details.tsx'
import { Section } from '../../design/page.tsx'
import { Stat, Stats } from '../../design/stat.tsx'
import { Time } from '../../design/time.tsx'
import { number } from '../../lib/format.ts'

const WARN_FROM = 0.8

/** Use of the plan. */
export function Usage({ usage }: { readonly usage: PlanUsage }) {
  const { plan, lookups, accounts, rate } = usage
  return (
    <Section title={`Plan: ${plan}`}>
      <Stats>
        <Stat label="Lookups today (UTC)" value={number(lookups.used)} unit={`of ${number(lookups.limit)}`}>
          <Meter label="Lookups today, of the plan" value={lookups.used} max={lookups.limit} warnFrom={WARN_FROM} />
          More from <Time at={lookups.resets_at} />
        </Stat>
        <Stat label="Companies this month (UTC)" value={number(accounts.used)} unit={`of ${number(accounts.limit)}`}>
          <Meter
            label="Companies this month, of the plan"
            value={accounts.used}
            max={accounts.limit}
            warnFrom={WARN_FROM}
          />
          {accounts.passed_at === null ? (
            'No event is refused above the limit'
          ) : (
            <>
              Passed <Time at={accounts.passed_at} />; nothing is refused
            </>
          )}
        </Stat>
        <Stat label="Requests" value={number(rate.per_second)} unit="a second">
          {number(rate.left)} of {number(rate.burst)} at once are free now; each source has as many for itself
        </Stat>
      </Stats>
    </Section>
  )
}
