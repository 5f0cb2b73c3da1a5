import type { ComponentChildren } from 'preact'
import type { ImportAnswer, ImportedRow } from '../../../../../schemas/api/company-import.ts'
import type { OwnColumn } from '../../../../../schemas/facts.ts'
import { Disclosure } from '../../design/details.tsx'
import { Stack, Text } from '../../design/layout.tsx'
import { Stat, Stats } from '../../design/stat.tsx'
import { Table } from '../../design/table.tsx'
import { counted, number } from '../../lib/format.ts'
import { ownText } from '../../lib/own-columns.ts'

interface ImportGroupsProps {
  readonly preview: ImportAnswer
  readonly own: readonly OwnColumn[]
  readonly isLoading: boolean
}

/** What a list would change: counts, and the first rows of each group. */
export function ImportGroups({ preview, own, isLoading }: ImportGroupsProps) {
  const { matched, waiting, unused, changed, values, cleared, problem_count: problems } = preview
  return (
    <Stack>
      <Text role="status">
        {isLoading
          ? 'Reading…'
          : values === 0
            ? 'Nothing would change: everything that can be used is known already.'
            : `${counted(changed, 'company', 'companies')} would change: ${counted(values, 'value')}` +
              `${cleared > 0 ? `, ${number(cleared)} of them removed` : ''}.`}
      </Text>
      <Stats>
        <Stat label="Have visited" value={number(matched)}>
          {counted(matched, 'row')} matched
        </Stat>
        <Stat label="Not yet" value={number(waiting)}>
          kept for their first visit
        </Stat>
        <Stat label="Not usable" value={number(unused)}>
          {counted(unused, 'row')} left out
        </Stat>
      </Stats>
      <Group title="Companies that change" rows={preview.changed_rows} own={own} isOpen />
      <Group title="Companies that have not visited yet" rows={preview.waiting_rows} all={waiting} own={own} />
      <Group title="Rows that cannot be used" rows={preview.unused_rows} all={unused} own={own} isOpen />
      {problems > 0 && (
        <Disclosure isOpen summary={`Values that cannot be used: ${number(problems)}`}>
          <Table
            label="Values that cannot be used"
            rows={preview.problems}
            keyOf={({ line, column }) => `${line} ${column}`}
            columns={[
              { key: 'line', label: 'Line', isNumber: true, width: 56, render: ({ line }) => number(line) },
              { key: 'column', label: 'Column', render: ({ column }) => column },
              { key: 'reason', label: 'Why', text: 'wrap', inCard: 'whole', render: ({ reason }) => reason },
            ]}
          />
        </Disclosure>
      )}
    </Stack>
  )
}

interface GroupProps {
  readonly title: string
  readonly rows: readonly ImportedRow[]
  /** Rows of the group; undefined: not counted. */
  readonly all?: number
  readonly own: readonly OwnColumn[]
  readonly isOpen?: boolean
}

function Group({ title, rows, all, own, isOpen = false }: GroupProps) {
  if (rows.length === 0) return null
  const isUnused = rows[0]!.reason !== ''
  const summary =
    all === undefined
      ? `${title}, such as these`
      : `${title}: ${number(all)}${all > rows.length ? `, the first ${rows.length}` : ''}`
  return (
    <Disclosure summary={summary} isOpen={isOpen}>
      <Table
        label={title}
        rows={rows}
        keyOf={({ line }) => String(line)}
        columns={[
          {
            ...{ key: 'company', label: 'Company', text: 'wrap', width: 160 },
            render: ({ key, name }) => (
              <>
                {name || key || '–'}
                {name !== '' && name !== key && (
                  <Text as="div" tone="soft" isSmall>
                    {key}
                  </Text>
                )}
              </>
            ),
          },
          {
            ...{ key: 'changes', label: isUnused ? 'Why' : 'Changes', text: 'wrap', inCard: 'whole' },
            render: (row) => (isUnused ? row.reason : <Changes row={row} own={own} />),
          },
          { key: 'line', label: 'Line', isNumber: true, width: 56, render: ({ line }) => number(line) },
        ]}
      />
    </Disclosure>
  )
}

const FIELDS: Readonly<Record<string, string>> = { status: 'Status', owner: 'Owner', tags: 'Tags' }

function Changes({ row: { changes }, own }: { readonly row: ImportedRow; readonly own: readonly OwnColumn[] }) {
  if (changes.length === 0) return <Text tone="soft">nothing new</Text>
  return (
    <Stack gap={1}>
      {changes.map(({ field, before, value }): ComponentChildren => {
        const column = own.find(({ key }) => field === `own.${key}`)
        const name = FIELDS[field] ?? column?.name ?? field.replace('own.', '').replaceAll('_', ' ')
        const textOf = (text: string) => (column === undefined ? text : ownText(column, text))
        return (
          <Text key={field} as="div">
            <Text as="span" tone="soft">
              {name}:
            </Text>{' '}
            {before !== '' && <s>{textOf(before)}</s>} {value === '' ? 'removed' : <strong>{textOf(value)}</strong>}
          </Text>
        )
      })}
    </Stack>
  )
}
