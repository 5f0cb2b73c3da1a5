import type { ListedExport } from '../../../../../schemas/dashboard/exports.ts'
import { Stack, Text } from '../../design/layout.tsx'
import { sentence } from '../../design/notice.tsx'
import { Section } from '../../design/page.tsx'
import { Table } from '../../design/table.tsx'
import { dayOf, daysAgo, otherZone, timeOfDay } from '../../lib/days.ts'
import { day } from '../../lib/format.ts'
import { TEXTS } from '../../texts/texts.ts'
import { filePath } from './words.ts'

const texts = TEXTS.exports.calendar

const PAST_DAYS = 7
const DAY_MS = 86_400_000

/** A file that was written or not, or one that is due. */
interface Entry {
  readonly at: string
  readonly exported: ListedExport
  /** Undefined: it is due. */
  readonly run: ListedExport['runs'][number] | undefined
}

interface ExportCalendarProps {
  readonly tenant: string
  readonly exports: readonly ListedExport[]
}

/** Which exports ran on the last days, what they made, and which are due next. Days are those of the workspace. */
export function ExportCalendar({ tenant, exports }: ExportCalendarProps) {
  const days = daysOf(exports, Date.now())
  return (
    <Section title={texts.title} description={texts.about(otherZone())}>
      {days.length === 0 ? (
        <Text tone="soft">{texts.none}</Text>
      ) : (
        <Table
          label={texts.label}
          rows={days}
          keyOf={({ date }) => date}
          columns={[
            { key: 'day', label: texts.day, render: ({ date }) => dayName(date) },
            {
              key: 'files',
              label: texts.files,
              text: 'wrap',
              inCard: 'whole',
              render: ({ entries }) => (
                <Stack gap={1}>
                  {entries.map((entry) => (
                    <Text key={`${entry.exported.export_id} ${entry.at}`} as="span">
                      <EntryText tenant={tenant} entry={entry} />
                    </Text>
                  ))}
                </Stack>
              ),
            },
          ]}
        />
      )}
    </Section>
  )
}

function EntryText({ tenant, entry: { at, exported, run } }: { readonly tenant: string; readonly entry: Entry }) {
  const time = timeOfDay(at)
  const { export_id: id, name } = exported
  if (run === undefined) {
    return (
      <>
        {texts.due(time, name, (text) => (
          <Text as="span" tone="soft">
            {text}
          </Text>
        ))}
      </>
    )
  }
  if (run.object === null) {
    return (
      <>
        {texts.failed(
          time,
          name,
          <Text as="span" tone="bad">
            {sentence(run.error ?? texts.notWritten)}
          </Text>,
        )}
      </>
    )
  }
  return (
    <>
      {texts.written(
        time,
        <a href={filePath(tenant, id, run.object)} download>
          {name}
        </a>,
        run.rows ?? 0,
      )}
    </>
  )
}

/** By days, the earliest first. */
function daysOf(exports: readonly ListedExport[], nowMs: number): { date: string; entries: Entry[] }[] {
  const entries = exports.flatMap((exported): Entry[] => [
    ...exported.runs
      .filter(({ at }) => Date.parse(at) > nowMs - PAST_DAYS * DAY_MS)
      .map((run) => ({ at: run.at, exported, run })),
    ...exported.upcoming.map((at) => ({ at, exported, run: undefined })),
  ])
  const days = new Map<string, Entry[]>()
  for (const entry of entries.sort((a, b) => (a.at < b.at ? -1 : 1))) {
    const date = dayOf(entry.at)
    const known = days.get(date)
    if (known === undefined) days.set(date, [entry])
    else known.push(entry)
  }
  return [...days].map(([date, all]) => ({ date, entries: all }))
}

function dayName(date: string): string {
  return date === daysAgo(0) ? texts.today(day(date)) : day(date)
}
