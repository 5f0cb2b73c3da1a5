import { CircleHelp } from 'lucide-preact'
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import {
  UNKNOWN_LIMITS,
  UNKNOWN_REASONS,
  type UnknownNetwork,
  type UnknownNetworksAnswer,
  type UnknownReason,
} from '../../../../schemas/unknown-networks.ts'
import { Soft } from '../components/judgement.tsx'
import { PastJob } from '../components/past-job.tsx'
import { Button } from '../design/button.tsx'
import { Select } from '../design/field.tsx'
import { Country } from '../design/flag.tsx'
import { Row, Text } from '../design/layout.tsx'
import { EmptyState, Problem } from '../design/notice.tsx'
import { Page } from '../design/page.tsx'
import { Loading } from '../design/skeleton.tsx'
import { Table } from '../design/table.tsx'
import { Segmented } from '../design/tabs.tsx'
import { Time } from '../design/time.tsx'
import { number } from '../lib/format.ts'
import type { PageProps } from '../lib/page-props.ts'
import { useUrlState } from '../lib/url-state.ts'
import { useData } from '../lib/use-data.ts'
import { TEXTS } from '../texts/texts.ts'
import { MakeCompany } from './unknown-networks/make-company.tsx'

const texts = TEXTS.unknownNetworks.page

const SPANS = ['7', '30', '90']
const REFRESH_MS = 60_000

const REASONS: Readonly<Record<UnknownReason, string>> = texts.reasons

/** The networks of visits without a company, and a rule that makes one a company. */
export function UnknownNetworks({ parameters }: PageProps) {
  const tenant = parameters.tenant!
  const [state, set] = useUrlState()
  const [chosen, setChosen] = useState<UnknownNetwork>()
  const days = SPANS.find((span) => span === state.get('days')) ?? String(UNKNOWN_LIMITS.days)
  const reason = UNKNOWN_REASONS.find((name) => name === state.get('reason')) ?? ''
  const limit = state.get('rows') === 'all' ? UNKNOWN_LIMITS.rowsMax : UNKNOWN_LIMITS.rows
  const path = `/api/tenants/${tenant}/companies/unknown`
  const { value, error, isLoading, reload } = useData<UnknownNetworksAnswer>(path, { days, reason, limit }, REFRESH_MS)
  const left = (value?.total ?? 0) - (value?.networks.length ?? 0)
  return (
    <Page
      title={texts.title}
      description={texts.about}
      back={{ href: `/t/${tenant}/companies`, label: TEXTS.words.fields.companies }}
      actions={
        <Segmented
          label={texts.days}
          value={days}
          options={SPANS.map((span) => ({ value: span, label: TEXTS.words.counts.days(span) }))}
          onChange={(next) => set({ days: next, rows: '' })}
        />
      }
    >
      <PastJob tenant={tenant} ended={reload} />
      <Row justify="between">
        <Text role="status" tone="soft">
          {value === undefined ? ' ' : texts.summary(value.visits, value.total) + (isLoading ? texts.loading : '')}
        </Text>
        <Select
          label={texts.why}
          isLabelHidden
          value={reason}
          options={[
            { value: '', label: texts.allReasons },
            ...UNKNOWN_REASONS.map((name) => ({ value: name, label: REASONS[name] })),
          ]}
          onChange={(next) => set({ reason: next, rows: '' })}
        />
      </Row>
      {error !== undefined && <Problem error={error} onRetry={reload} />}
      {value === undefined && error === undefined && <Loading rows={10} rowHeight={36} />}
      {value !== undefined && value.networks.length === 0 && (
        <EmptyState icon={CircleHelp} title={texts.none}>
          <p>{reason === '' ? texts.allKnown : texts.moreDays}</p>
        </EmptyState>
      )}
      {value !== undefined && value.networks.length > 0 && (
        <Networks tenant={tenant} networks={value.networks} onMake={setChosen} />
      )}
      {left > 0 && (
        <Row>
          {limit < UNKNOWN_LIMITS.rowsMax ? (
            <Button onClick={() => set({ rows: 'all' }, true)}>{TEXTS.words.buttons.showMore}</Button>
          ) : (
            <Text tone="soft">{texts.more(left)}</Text>
          )}
        </Row>
      )}
      {chosen !== undefined && (
        <MakeCompany tenant={tenant} network={chosen} changed={reload} onClose={() => setChosen(undefined)} />
      )}
    </Page>
  )
}

interface NetworksProps {
  readonly tenant: string
  readonly networks: readonly UnknownNetwork[]
  readonly onMake: (network: UnknownNetwork) => void
}

function Networks({ tenant, networks, onMake }: NetworksProps) {
  return (
    <Table
      label={texts.networks}
      rows={networks}
      keyOf={({ asn, name, reason }) => `${asn} ${reason} ${name}`}
      hasKeys
      columns={[
        { key: 'network', label: texts.network, text: 320, render: (network) => <Name network={network} /> },
        { key: 'why', label: texts.whyColumn, inCard: 'plain', render: ({ reason }) => REASONS[reason] },
        {
          key: 'country',
          label: TEXTS.words.fields.country,
          inCard: 'plain',
          leaves: 2,
          render: ({ country_code: code }) => <Country code={code} />,
        },
        { key: 'visits', label: TEXTS.words.fields.visits, isNumber: true, render: ({ visits }) => number(visits) },
        {
          key: 'last',
          label: TEXTS.words.fields.lastSeen,
          leaves: 1,
          render: ({ last_seen }) => <Time at={last_seen} isAgo />,
        },
        {
          key: 'actions',
          label: TEXTS.words.fields.actions,
          isLabelHidden: true,
          isActions: true,
          render: (network) => <Action tenant={tenant} network={network} onMake={onMake} />,
        },
      ]}
    />
  )
}

function Name({ network: { asn, as_name, name, reason } }: { readonly network: UnknownNetwork }) {
  return (
    <>
      {as_name || name || <Soft>{reason === 'unknown' ? texts.notKnown : texts.leftOut}</Soft>}
      {asn > 0 && (
        <Text as="span" tone="soft" isSmall>
          {' '}
          AS{asn}
        </Text>
      )}
    </>
  )
}

function Action({ tenant, network, onMake }: Omit<NetworksProps, 'networks'> & { readonly network: UnknownNetwork }) {
  const { asn, reason, rule, as_name } = network
  if (rule !== null) return <Link href={`/t/${tenant}/settings/rules`}>{texts.haveCompany}</Link>
  if (asn === 0 || reason === 'kept') return null
  return (
    <Button size="s" aria-label={texts.makeOf(asn, as_name)} onClick={() => onMake(network)}>
      {texts.make}
    </Button>
  )
}
