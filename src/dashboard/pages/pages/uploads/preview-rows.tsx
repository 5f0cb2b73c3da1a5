import type { PreviewRow } from '../../../../../schemas/dashboard/uploads.ts'
import { ClassName, CompanyName, Soft, StatusBadge } from '../../components/judgement.tsx'
import { Badge } from '../../design/badge.tsx'
import { Stack, Text } from '../../design/layout.tsx'
import { Table } from '../../design/table.tsx'
import { number } from '../../lib/format.ts'
import { whyOf } from '../../lib/live-tail.ts'

/** The first rows with their results. */
export function PreviewRows({ rows }: { readonly rows: readonly PreviewRow[] }) {
  if (rows.length === 0) return null
  return (
    <Stack gap={3}>
      <Text role="status">{summaryOf(rows)}</Text>
      <Table
        label="The first rows, and their results"
        rows={rows}
        keyOf={({ line }) => String(line)}
        columns={[
          { key: 'line', label: 'Line', isNumber: true, width: 56, render: ({ line }) => number(line) },
          { key: 'becomes', label: 'Becomes', inCard: 'plain', render: (row) => <Becomes row={row} /> },
          {
            key: 'company',
            label: 'Company',
            text: 'wrap',
            inCard: 'plain',
            render: ({ becomes }) => becomes !== null && <CompanyName {...becomes} />,
          },
          {
            key: 'class',
            label: 'Class',
            inCard: 'plain',
            render: ({ becomes }) => becomes !== null && <ClassName {...becomes} />,
          },
          { key: 'why', label: 'Why', text: 'wrap', inCard: 'whole', render: (row) => <Why row={row} /> },
          {
            key: 'event',
            label: 'Event',
            text: 'wrap',
            inCard: 'whole',
            render: ({ event }) => event !== null && <code>{event}</code>,
          },
        ]}
      />
      <Text tone="soft" isSmall>
        By today's data and rules; earlier events are not compared. Nothing is stored or counted yet.
      </Text>
    </Stack>
  )
}

function Becomes({ row: { becomes, repeat_of: repeatOf } }: { readonly row: PreviewRow }) {
  if (becomes === null) return <Badge tone="bad">nothing</Badge>
  return repeatOf === null ? <StatusBadge status={becomes.status} /> : <Badge tone="warn">repeat</Badge>
}

function Why({ row: { becomes, problem, repeat_of: repeatOf } }: { readonly row: PreviewRow }) {
  if (becomes === null) return <Text tone="bad">{problem}</Text>
  return (
    <Soft>
      {repeatOf === null ? whyOf(becomes) : `its event_id is that of line ${number(repeatOf)}: it counts once`}
    </Soft>
  )
}

/** "Of the first 20 rows, 12 would be stored, 7 filtered, and 1 has a problem." */
function summaryOf(rows: readonly PreviewRow[]): string {
  const count = (holds: (row: PreviewRow) => boolean) => rows.filter(holds).length
  const stored = count(({ becomes, repeat_of }) => becomes?.status === 'ok' && repeat_of === null)
  const first = rows.length === 1 ? 'first row' : `first ${number(rows.length)} rows`
  if (stored === rows.length) return `The ${first} would be stored.`
  const wrong = count(({ becomes }) => becomes === null)
  const others = [
    [count(({ becomes }) => becomes?.status === 'filtered'), 'filtered'],
    [count(({ repeat_of }) => repeat_of !== null), 'counted as repeats'],
    [wrong, wrong === 1 ? 'has a problem' : 'have a problem'],
  ] as const
  const parts = others.filter(([rows]) => rows > 0).map(([rows, what]) => `${number(rows)} ${what}`)
  return `Of the ${first}, ${[`${number(stored)} would be stored`, ...parts].join(', ')}.`
}
