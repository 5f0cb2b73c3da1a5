import { useEffect, useState } from 'preact/hooks'
import type { VisitEvent, VisitsAnswer } from '../../../../../schemas/dashboard/visits.ts'
import { Button } from '../../design/button.tsx'
import { Disclosure } from '../../design/details.tsx'
import { FieldError } from '../../design/field.tsx'
import { List, Row, Stack, Text } from '../../design/layout.tsx'
import { Problem } from '../../design/notice.tsx'
import { Section } from '../../design/page.tsx'
import { Loading } from '../../design/skeleton.tsx'
import { Table } from '../../design/table.tsx'
import { Time } from '../../design/time.tsx'
import { get } from '../../lib/api.ts'
import { counted } from '../../lib/format.ts'
import { useAction } from '../../lib/use-action.ts'
import { useData } from '../../lib/use-data.ts'
import { durationText, pathOf, type Visit, visitsOf } from '../../lib/visits.ts'

const REFRESH_MS = 30_000
/** More of them open below. */
const FIRST = 12

interface VisitListProps {
  /** Of the calls about the company. */
  readonly path: string
}

/** What a company did, visit by visit. The newest events load first; older ones follow on demand. */
export function VisitList({ path }: VisitListProps) {
  const { value, error, reload } = useData<VisitsAnswer>(`${path}/visits`, {}, REFRESH_MS)
  const [older, setOlder] = useState<readonly VisitsAnswer[]>([])
  const [isWhole, setWhole] = useState(false)
  const loading = useAction()
  useEffect(() => setOlder([]), [path])
  if (value === undefined) {
    return (
      <Section title="Visits">
        {error === undefined ? <Loading rows={6} rowHeight={36} /> : <Problem error={error} onRetry={reload} />}
      </Section>
    )
  }
  const last = older.at(-1) ?? value
  const visits = visitsOf(distinct([value, ...older].flatMap(({ events }) => events)))
  const load = () =>
    loading.run(async () => {
      const next = await get<VisitsAnswer>(`${path}/visits`, { before: last.older! })
      setOlder((all) => [...all, next])
    })
  return (
    <Section
      title="Visits"
      description="Events of one session, else of one visitor with less than 30 minutes between them."
    >
      {error !== undefined && <Problem error={error} onRetry={reload} />}
      <List label="Visits" gap={1}>
        {(isWhole ? visits : visits.slice(0, FIRST)).map((visit) => (
          <li key={visit.key}>
            <Disclosure summary={<Summary {...visit} />}>
              <Events {...visit} />
            </Disclosure>
          </li>
        ))}
      </List>
      <FieldError error={loading.error} />
      {!isWhole && visits.length > FIRST && (
        <Row>
          <Button onClick={() => setWhole(true)}>Show {counted(visits.length - FIRST, 'older visit')}</Button>
        </Row>
      )}
      {(isWhole || visits.length <= FIRST) && last.older !== null && (
        <Row>
          <Button onClick={load} disabled={loading.isBusy}>
            Load older visits
          </Button>
          <Text tone="soft" isSmall>
            The oldest visit here may have begun earlier.
          </Text>
        </Row>
      )}
    </Section>
  )
}

/** While newer events arrive, the newest part moves on, and parts overlap. */
function distinct(events: readonly VisitEvent[]): VisitEvent[] {
  return [...new Map(events.map((event) => [`${event.event_id} ${event.received_at}`, event])).values()]
}

function Summary({ startedAt, endedAt, pages, events, source, people }: Visit) {
  const [first, last] = [pages[0], pages.at(-1)]
  const way =
    first === undefined
      ? counted(events.length, 'event')
      : `${pathOf(first)}${last === first ? '' : ` → ${pathOf(last!)}`}`
  const facts = [
    durationText(startedAt, endedAt),
    pages.length > 0 && counted(pages.length, 'page'),
    source === undefined ? 'direct' : `from ${source}`,
    ...people,
  ]
  return (
    <Stack gap={1}>
      <Row gap={2}>
        <Text as="span" isStrong>
          <Time at={startedAt} />
        </Text>
        <Text as="span">{way}</Text>
      </Row>
      <Text as="span" tone="soft" isSmall>
        {facts.filter((fact) => fact !== false).join(' · ')}
      </Text>
    </Stack>
  )
}

function Events({ events, addresses, startedAt }: Visit) {
  return (
    <Stack gap={2}>
      <Table
        label={`Events of the visit at ${startedAt}`}
        rows={events}
        keyOf={({ event_id, received_at }) => `${event_id} ${received_at}`}
        columns={[
          { key: 'time', label: 'Time', render: ({ timestamp }) => <Time at={timestamp} /> },
          { key: 'page', label: 'Page', text: 'wrap', render: ({ page }) => page || '–' },
          { key: 'type', label: 'Event', render: ({ event_type }) => event_type || 'no type' },
          { key: 'person', label: 'Person', render: ({ person }) => person || '–' },
        ]}
      />
      <Text tone="soft" isSmall>
        {addresses.length === 0 ? 'No address is stored.' : `From ${addresses.join(', ')}`}
      </Text>
    </Stack>
  )
}
