import type { PlanUsage } from '../../../../../schemas/dashboard/overview.ts'
import { Time } from '../../components/time.tsx'
import { number } from '../../lib/format.ts'

/** Use of the plan. */
export function Usage({ usage }: { readonly usage: PlanUsage }) {
  const { plan, lookups, accounts, rate } = usage
  return (
    <section>
      <h2>Plan: {plan}</h2>
      <div class="cards">
        <Meter title="Lookups today (UTC)" used={lookups.used} limit={lookups.limit}>
          More from <Time at={lookups.resets_at} />
        </Meter>
        <Meter title="Tracked accounts this month (UTC)" used={accounts.used} limit={accounts.limit}>
          Companies with an event received this month.{' '}
          {accounts.passed_at === null ? (
            'No event is refused above the limit'
          ) : (
            <>
              Passed <Time at={accounts.passed_at} />; nothing is refused
            </>
          )}
        </Meter>
        <section class="card">
          <h3>Requests</h3>
          <p class="figure">{number(rate.per_second)} a second</p>
          <p class="soft">
            {number(rate.left)} of {number(rate.burst)} at once are free now
          </p>
        </section>
      </div>
    </section>
  )
}

interface MeterProps {
  readonly title: string
  readonly used: number
  readonly limit: number
  readonly children: preact.ComponentChildren
}

function Meter({ title, used, limit, children }: MeterProps) {
  return (
    <section class="card">
      <h3>{title}</h3>
      <p class="figure">
        {number(used)} <span class="soft">of {number(limit)}</span>
      </p>
      <progress max={Math.max(1, limit)} value={Math.min(used, limit)} aria-label={`${title}, of the plan`} />
      <p class="soft">{children}</p>
    </section>
  )
}
