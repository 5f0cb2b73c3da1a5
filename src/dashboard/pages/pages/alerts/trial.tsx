import { useEffect, useState } from 'preact/hooks'
import type { AlertTrialAnswer, TryAlertBody } from '../../../../../schemas/dashboard/alerts.ts'
import { CompanyLink } from '../../components/company-link.tsx'
import { Stack, Text } from '../../design/layout.tsx'
import { Notice, sentence } from '../../design/notice.tsx'
import { Table } from '../../design/table.tsx'
import { ApiError, post } from '../../lib/api.ts'
import { withZone } from '../../lib/days.ts'
import { day } from '../../lib/format.ts'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.alerts.trial

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
      {tried === undefined && <Text tone="soft">{texts.counting}</Text>}
      {tried instanceof Error && (
        <Notice tone="warn">
          <p>{texts.unknown(sentence(tried.message))}</p>
          {!(tried instanceof ApiError && tried.status === 422) && <p>{texts.canCreate}</p>}
        </Notice>
      )}
      {tried !== undefined && !(tried instanceof Error) && <Outcome tenant={tenant} trial={tried} />}
    </div>
  )
}

function Outcome({ tenant, trial }: { readonly tenant: string; readonly trial: AlertTrialAnswer }) {
  const { days, times, companies, latest } = trial
  if (times === 0) {
    return (
      <Stack gap={1}>
        <Text isStrong>{texts.never(days)}</Text>
        <Text tone="soft">{texts.byStored}</Text>
      </Stack>
    )
  }
  const shown = latest.slice(0, SHOWN)
  return (
    <Stack gap={2}>
      <div>
        <Text isStrong>{texts.fired(times, days)}</Text>
        <Text tone="soft">{times > SHOWN ? texts.forLast(companies, SHOWN) : texts.for(companies)}</Text>
      </div>
      <Table
        label={texts.when}
        rows={shown}
        keyOf={({ day: at, company_id: id }) => `${at} ${id}`}
        isNeverStacked
        columns={[
          {
            key: 'company',
            label: TEXTS.words.fields.company,
            text: 260,
            render: ({ company_id: id, name }) => (
              <CompanyLink tenant={tenant} id={id} among={shown.map(({ company_id }) => company_id)}>
                {name}
              </CompanyLink>
            ),
          },
          { key: 'day', label: withZone(texts.day), render: ({ day: at }) => day(at) },
        ]}
      />
    </Stack>
  )
}
