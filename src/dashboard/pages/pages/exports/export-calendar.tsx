import type { ListedExport } from '../../../../../schemas/dashboard/exports.ts'
import { Stack, Text } from '../../design/layout.tsx'
import { sentence } from '../../design/notice.tsx'
import { Section } from '../../design/page.tsx'
import { Table } from '../../design/table.tsx'
import { dayOf, daysAgo, otherZone, timeOfDay } from '../../lib/days.ts'
import { counted, day } from '../../lib/format.ts'
import { filePath } from './words.ts'

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
  const zone = otherZone()
  return (
    <Section
      title="Calendar"
      description={`The last 7 days and the next 7${zone === undefined ? '' : `, in the time zone ${zone}`}.`}
    >
      {days.length === 0 ? (
        <Text tone="soft">No file was written on these days, and none is due.</Text>
      ) : (
        <Table
          label="Calendar of exports"
          rows={days}
          keyOf={({ date }) => date}
          columns={[
            { key: 'day', label: 'Day', render: ({ date }) => dayName(date) },
            {
              key: 'files',
              label: 'Files',
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
        {time} {name}{' '}
        <Text as="span" tone="soft">
          is due
        </Text>
      </>
    )
  }
  if (run.object === null) {
    return (
      <>
        {time} {name}:{' '}
        <Text as="span" tone="bad">
          {sentence(run.error ?? 'not written')}
        </Text>
      </>
    )
  }
  return (
    <>
      {time}{' '}
      <a href={filePath(tenant, id, run.object)} download>
        {name}
      </a>
      : {counted(run.rows ?? 0, 'company', 'companies')}
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
  return date === daysAgo(0) ? `Today, ${day(date)}` : day(date)
}
