import { Ban, Code, Pencil } from 'lucide-preact'
import type { ListedSource, SourcesAnswer } from '../../../../../schemas/dashboard/sources.ts'
import { Soft } from '../../components/judgement.tsx'
import { Badge } from '../../design/badge.tsx'
import { IconButton } from '../../design/button.tsx'
import { Disclosure } from '../../design/details.tsx'
import { Row, Stack, Text } from '../../design/layout.tsx'
import { Table, type TableColumn } from '../../design/table.tsx'
import { Time } from '../../design/time.tsx'
import { counted, number } from '../../lib/format.ts'
import { useMay } from '../../lib/may.ts'
import { Findings } from './findings.tsx'

type Fetches = SourcesAnswer['fetches']
type Act = (action: 'setup' | 'change' | 'revoke', source: ListedSource) => void

interface SourceListProps {
  readonly sources: readonly ListedSource[]
  readonly fetches: Fetches
  readonly onAct: Act
}

/** Active sources, newest first, and revoked ones below. */
export function SourceList({ sources, fetches, onAct }: SourceListProps) {
  const active = sources.filter(({ revoked_at: at }) => at === null)
  const revoked = sources.filter(({ revoked_at: at }) => at !== null)
  return (
    <Stack gap={5}>
      {active.length > 0 && <SourceTable label="Sources" sources={active} fetches={fetches} onAct={onAct} />}
      {revoked.length > 0 && (
        <Disclosure summary={counted(revoked.length, 'revoked source')}>
          <SourceTable label="Revoked sources" sources={revoked} fetches={fetches} onAct={onAct} />
        </Disclosure>
      )}
    </Stack>
  )
}

/** A number of today; – when it is unknown. */
function count(key: string, label: string, of: (today: NonNullable<ListedSource['today']>) => number) {
  const column: TableColumn<ListedSource> = {
    key,
    label,
    isNumber: true,
    render: ({ today }) => (today === undefined || today === null ? <Soft>–</Soft> : number(of(today))),
  }
  return column
}

function SourceTable({ label, sources, fetches, onAct }: SourceListProps & { readonly label: string }) {
  const isAdmin = useMay('admin')
  return (
    <Table
      label={label}
      rows={sources}
      keyOf={({ source_id: id }) => id}
      detailOf={(source) =>
        (source.findings.length > 0 || source.filtered_reasons.length > 0) && (
          <Stack gap={2}>
            <FilteredToday source={source} />
            <Findings findings={source.findings} />
            <Reasons source={source} />
          </Stack>
        )
      }
      columns={[
        {
          key: 'source',
          label: 'Source',
          text: 'wrap',
          render: (source) => (
            <Name source={source} fetched={fetches.find(({ source_id: id }) => id === source.source_id)} />
          ),
        },
        { key: 'state', label: 'State', inCard: 'whole', render: (source) => <State source={source} /> },
        count('today', 'Today (UTC)', ({ received }) => received),
        count('filtered', 'Filtered', ({ filtered }) => filtered),
        count('without', 'No address', ({ without_address: without }) => without),
        count('rejected', 'Rejected', ({ rejected }) => rejected),
        count('repeats', 'Repeats', ({ repeats }) => repeats),
        {
          key: 'actions',
          label: 'Actions',
          isLabelHidden: true,
          isActions: true,
          render: (source) => {
            const name = `${source.name ?? source.title} ${source.source_id}`
            return (
              source.revoked_at === null && (
                <Row gap={1}>
                  <IconButton icon={Code} size="s" label={`Setup of ${name}`} onClick={() => onAct('setup', source)} />
                  {isAdmin && (
                    <>
                      <IconButton
                        icon={Pencil}
                        size="s"
                        label={`Change ${name}`}
                        onClick={() => onAct('change', source)}
                      />
                      <IconButton
                        icon={Ban}
                        size="s"
                        label={`Revoke ${name}`}
                        onClick={() => onAct('revoke', source)}
                      />
                    </>
                  )}
                </Row>
              )
            )
          },
        },
      ]}
    />
  )
}

interface NameProps {
  readonly source: ListedSource
  /** Undefined: senders send it. */
  readonly fetched: Fetches[number] | undefined
}

function Name({ source: { source_id: id, name, title, address }, fetched }: NameProps) {
  return (
    <>
      {name ?? title}
      <Text tone="soft" isSmall as="div">
        {name === null ? '' : `${title} · `}
        <code>{id}</code>
        {address === 'auto' || fetched ? '' : ` · addresses of the ${address}`}
      </Text>
      {fetched && (
        <Text tone={fetched.status === 'failing' ? 'bad' : 'soft'} isSmall as="div">
          {fetched.place}: {fetched.text}
        </Text>
      )}
    </>
  )
}

const STATES = {
  good: ['good', 'receiving'],
  attention: ['warn', 'needs attention'],
  waiting: ['neutral', 'waiting'],
  unknown: ['neutral', 'unknown'],
} as const

function State({
  source: { state, revoked_at, last_event: last, last_used: used },
}: {
  readonly source: ListedSource
}) {
  if (state === 'revoked') return <Soft>revoked {revoked_at !== null && <Time at={revoked_at} />}</Soft>
  const [tone, word] = STATES[state]
  const at = last ?? used
  return (
    <>
      <Badge tone={tone}>{word}</Badge>
      <Text as="div" tone="soft" isSmall>
        {at === null ? 'no event yet' : <Time at={at} isAgo />}
      </Text>
    </>
  )
}

/** Why events of today were filtered. */
function FilteredToday({ source: { filtered_reasons: reasons } }: { readonly source: ListedSource }) {
  if (reasons.length === 0) return null
  return (
    <Text tone="soft" isSmall>
      Filtered today: {reasons.map(({ label, events }) => `${number(events)} ${label}`).join(', ')}
    </Text>
  )
}

/** All reasons for rejected events, when there are several. */
function Reasons({ source: { rejected_reasons: reasons } }: { readonly source: ListedSource }) {
  if (reasons.length < 2) return null
  return (
    <Disclosure summary="Why events were rejected since yesterday">
      <Stack gap={1}>
        {reasons.map(({ reason, events }) => (
          <Text key={reason}>
            {number(events)}: {reason}
          </Text>
        ))}
      </Stack>
    </Disclosure>
  )
}
