import { useEffect, useState } from 'preact/hooks'
import type { AlertTrialAnswer, TryAlertBody } from '../../../../../schemas/dashboard/alerts.ts'
import { CompanyLink } from '../../components/company-link.tsx'
import { Stack, Text } from '../../design/layout.tsx'
import { Notice, sentence } from '../../design/notice.tsx'
import { Table } from '../../design/table.tsx'
import { ApiError, post } from '../../lib/api.ts'
import { withZone } from '../../lib/days.ts'
import { counted, day, number } from '../../lib/format.ts'

interface TrialProps {
  readonly tenant: string
  /** Undefined: the choice is not complete. */
  readonly when: TryAlertBody | undefined
}

type Tried = AlertTrialAnswer | Error | undefined

/** While a number is typed. */
const TYPED_MS = 400
const SHOWN = 8

/** The reports that an alert would have made on the last days. It counts again when the choice changes. */
export function Trial({ tenant, when }: TrialProps) {
  const [tried, setTried] = useState<Tried>()
  const body = when === undefined ? undefined : JSON.stringify(when)
  useEffect(() => {
    setTried(undefined)
    if (body === undefined) return
    let isOld = false
    const keep = (next: Tried) => {
      if (!isOld) setTried(next)
    }
    const timer = setTimeout(() => {
      post<AlertTrialAnswer>(`/api/tenants/${tenant}/alerts/try`, JSON.parse(body)).then(keep, keep)
    }, TYPED_MS)
    return () => {
      isOld = true
      clearTimeout(timer)
    }
  }, [tenant, body])
  if (body === undefined) return null
  return (
    <div role="status">
      {tried === undefined && <Text tone="soft">Counting how often it would have fired…</Text>}
      {tried instanceof Error && (
        <Notice tone="warn">
          <p>How often it would have fired is not known: {sentence(tried.message)}</p>
          {!(tried instanceof ApiError && tried.status === 422) && <p>You can still create the alert.</p>}
        </Notice>
      )}
      {tried !== undefined && !(tried instanceof Error) && <Outcome tenant={tenant} trial={tried} />}
    </div>
  )
}

function Outcome({ tenant, trial }: { readonly tenant: string; readonly trial: AlertTrialAnswer }) {
  const { days, times, companies, latest } = trial
  const often = times === 1 ? 'once' : `${number(times)} times`
  if (times === 0) {
    return (
      <Stack gap={1}>
        <Text isStrong>Would not have fired in {days} days</Text>
        <Text tone="soft">By the events that are stored now. A wider choice reports more.</Text>
      </Stack>
    )
  }
  const shown = latest.slice(0, SHOWN)
  return (
    <Stack gap={2}>
      <div>
        <Text isStrong>
          Would have fired {often} in {days} days
        </Text>
        <Text tone="soft">
          For {counted(companies, 'company', 'companies')}
          {times > SHOWN ? `. The last ${SHOWN}:` : ':'}
        </Text>
      </div>
      <Table
        label="When it would have fired"
        rows={shown}
        keyOf={({ day: at, company_id: id }) => `${at} ${id}`}
        isNeverStacked
        columns={[
          {
            key: 'company',
            label: 'Company',
            text: 260,
            render: ({ company_id: id, name }) => (
              <CompanyLink tenant={tenant} id={id} among={shown.map(({ company_id }) => company_id)}>
                {name}
              </CompanyLink>
            ),
          },
          { key: 'day', label: withZone('Day'), render: ({ day: at }) => day(at) },
        ]}
      />
    </Stack>
  )
}
