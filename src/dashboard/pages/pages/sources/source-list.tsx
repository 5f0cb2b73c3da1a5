import { Ban, Code, Pencil } from 'lucide-preact'
import type { ListedSource, SourcesAnswer } from '../../../../../schemas/dashboard/sources.ts'
import { Soft } from '../../components/judgement.tsx'
import { Badge } from '../../design/badge.tsx'
import { IconButton } from '../../design/button.tsx'
import { Disclosure } from '../../design/details.tsx'
import { Row, Stack, Text } from '../../design/layout.tsx'
import { Table, type TableColumn } from '../../design/table.tsx'
import { Time } from '../../design/time.tsx'
import { withUtc } from '../../lib/day-clock.ts'
import { number } from '../../lib/format.ts'
import { useMay } from '../../lib/may.ts'
import { TEXTS } from '../../texts/texts.ts'
import { Findings } from './findings.tsx'

const texts = TEXTS.sources.table

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
      {active.length > 0 && <SourceTable label={texts.sources} sources={active} fetches={fetches} onAct={onAct} />}
      {revoked.length > 0 && (
        <Disclosure summary={texts.revokedCount(revoked.length)}>
          <SourceTable label={texts.revokedSources} sources={revoked} fetches={fetches} onAct={onAct} />
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
          label: texts.source,
          text: 'wrap',
          render: (source) => (
            <Name source={source} fetched={fetches.find(({ source_id: id }) => id === source.source_id)} />
          ),
        },
        { key: 'state', label: texts.state, inCard: 'whole', render: (source) => <State source={source} /> },
        count('today', withUtc(texts.today), ({ received }) => received),
        count('filtered', texts.filtered, ({ filtered }) => filtered),
        count('without', texts.noAddress, ({ without_address: without }) => without),
        count('rejected', texts.rejected, ({ rejected }) => rejected),
        count('repeats', texts.repeats, ({ repeats }) => repeats),
        {
          key: 'actions',
          label: TEXTS.words.fields.actions,
          isLabelHidden: true,
          isActions: true,
          render: (source) => {
            const name = `${source.name ?? source.title} ${source.source_id}`
            return (
              source.revoked_at === null && (
                <Row gap={1}>
                  <IconButton icon={Code} size="s" label={texts.setupOf(name)} onClick={() => onAct('setup', source)} />
                  {isAdmin && (
                    <>
                      <IconButton
                        icon={Pencil}
                        size="s"
                        label={texts.change(name)}
                        onClick={() => onAct('change', source)}
                      />
                      <IconButton
                        icon={Ban}
                        size="s"
                        label={texts.revoke(name)}
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
        {address === 'auto' || fetched ? '' : texts.addressesOf(address)}
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
  good: ['good', texts.states.good],
  attention: ['warn', texts.states.attention],
  waiting: ['neutral', texts.states.waiting],
  unknown: ['neutral', texts.states.unknown],
} as const

function State({
  source: { state, revoked_at, last_event: last, last_used: used },
}: {
  readonly source: ListedSource
}) {
  if (state === 'revoked')
    return <Soft>{revoked_at === null ? texts.revoked : texts.revokedAt(<Time at={revoked_at} />)}</Soft>
  const [tone, word] = STATES[state]
  const at = last ?? used
  return (
    <>
      <Badge tone={tone}>{word}</Badge>
      <Text as="div" tone="soft" isSmall>
        {at === null ? texts.noEvent : <Time at={at} isAgo />}
      </Text>
    </>
  )
}

/** Why events of today were filtered. */
function FilteredToday({ source: { filtered_reasons: reasons } }: { readonly source: ListedSource }) {
  if (reasons.length === 0) return null
  return (
    <Text tone="soft" isSmall>
      {texts.filteredToday(reasons.map(({ label, events }) => `${number(events)} ${label}`))}
    </Text>
  )
}

/** All reasons for rejected events, when there are several. */
function Reasons({ source: { rejected_reasons: reasons } }: { readonly source: ListedSource }) {
  if (reasons.length < 2) return null
  return (
    <Disclosure summary={texts.whyRejected}>
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
