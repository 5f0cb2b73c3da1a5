import { useEffect, useState } from 'preact/hooks'
import type { ActivityEvent, ActivityEventsAnswer } from '../../../../../schemas/dashboard/activity.ts'
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
import { useAction } from '../../lib/use-action.ts'
import { useData } from '../../lib/use-data.ts'
import { durationText, pathOf, sessionsOf, type VisitorSession } from '../../lib/visitor-sessions.ts'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.company.sessions

const REFRESH_MS = 30_000
/** More of them open below. */
const FIRST = 12

interface SessionListProps {
  /** Path of the calls about the company. */
  readonly path: string
}

/** The visits of a company, session by session. The newest events load first; older ones follow on demand. */
export function SessionList({ path }: SessionListProps) {
  const { value, error, reload } = useData<ActivityEventsAnswer>(`${path}/activity/events`, {}, REFRESH_MS)
  const [older, setOlder] = useState<readonly ActivityEventsAnswer[]>([])
  const [isWhole, setWhole] = useState(false)
  const loading = useAction()
  useEffect(() => setOlder([]), [path])
  if (value === undefined) {
    return (
      <Section title={texts.title}>
        {error === undefined ? <Loading rows={6} rowHeight={36} /> : <Problem error={error} onRetry={reload} />}
      </Section>
    )
  }
  const last = older.at(-1) ?? value
  const sessions = sessionsOf(distinct([value, ...older].flatMap(({ events }) => events)))
  const load = () =>
    loading.run(async () => {
      const next = await get<ActivityEventsAnswer>(`${path}/activity/events`, { before: last.older! })
      setOlder((all) => [...all, next])
    })
  return (
    <Section title={texts.title} description={texts.about}>
      {error !== undefined && <Problem error={error} onRetry={reload} />}
      <List label={texts.title} gap={1}>
        {(isWhole ? sessions : sessions.slice(0, FIRST)).map((session) => (
          <li key={session.key}>
            <Disclosure summary={<Summary {...session} />}>
              <Events {...session} />
            </Disclosure>
          </li>
        ))}
      </List>
      <FieldError error={loading.error} />
      {!isWhole && sessions.length > FIRST && (
        <Row>
          <Button onClick={() => setWhole(true)}>{texts.showOlder(sessions.length - FIRST)}</Button>
        </Row>
      )}
      {(isWhole || sessions.length <= FIRST) && last.older !== null && (
        <Row>
          <Button onClick={load} disabled={loading.isBusy}>
            {texts.loadOlder}
          </Button>
          <Text tone="soft" isSmall>
            {texts.mayBeOlder}
          </Text>
        </Row>
      )}
    </Section>
  )
}

/** While newer events arrive, the newest part moves on, and parts overlap. */
function distinct(events: readonly ActivityEvent[]): ActivityEvent[] {
  return [...new Map(events.map((event) => [`${event.event_id} ${event.received_at}`, event])).values()]
}

function Summary({ startedAt, endedAt, pages, events, source, people }: VisitorSession) {
  const [first, last] = [pages[0], pages.at(-1)]
  const way =
    first === undefined
      ? TEXTS.words.counts.events(events.length)
      : `${pathOf(first)}${last === first ? '' : ` → ${pathOf(last!)}`}`
  const facts = [
    durationText(startedAt, endedAt),
    pages.length > 0 && texts.pages(pages.length),
    source === undefined ? texts.direct : texts.from(source),
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

function Events({ events, addresses, startedAt }: VisitorSession) {
  return (
    <Stack gap={2}>
      <Table
        label={texts.eventsOf(startedAt)}
        rows={events}
        keyOf={({ event_id, received_at }) => `${event_id} ${received_at}`}
        columns={[
          { key: 'time', label: texts.time, render: ({ timestamp }) => <Time at={timestamp} /> },
          { key: 'page', label: texts.page, text: 'wrap', render: ({ page }) => page || '–' },
          { key: 'type', label: texts.event, render: ({ event_type }) => event_type || texts.noType },
          { key: 'person', label: texts.person, render: ({ person }) => person || '–' },
        ]}
      />
      <Text tone="soft" isSmall>
        {addresses.length === 0 ? texts.noAddress : texts.addresses(addresses.join(', '))}
      </Text>
    </Stack>
  )
}
