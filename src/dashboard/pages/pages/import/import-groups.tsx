import type { ComponentChildren } from 'preact'
import type { ImportAnswer, ImportedRow } from '../../../../../schemas/api/company-import.ts'
import type { OwnColumn } from '../../../../../schemas/facts.ts'
import { Disclosure } from '../../design/details.tsx'
import { Stack, Text } from '../../design/layout.tsx'
import { Stat, Stats } from '../../design/stat.tsx'
import { Table } from '../../design/table.tsx'
import { number } from '../../lib/format.ts'
import { ownText } from '../../lib/own-words.ts'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.importList.groups

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
        {isLoading ? texts.reading : values === 0 ? texts.noChange : texts.wouldChange(changed, values, cleared)}
      </Text>
      <Stats>
        <Stat label={texts.visited} value={number(matched)}>
          {texts.matched(matched)}
        </Stat>
        <Stat label={texts.notYet} value={number(waiting)}>
          {texts.keptForVisit}
        </Stat>
        <Stat label={texts.notUsable} value={number(unused)}>
          {texts.leftOut(unused)}
        </Stat>
      </Stats>
      <Group title={texts.change} rows={preview.changed_rows} own={own} isOpen />
      <Group title={texts.notVisited} rows={preview.waiting_rows} all={waiting} own={own} />
      <Group title={texts.unusable} rows={preview.unused_rows} all={unused} own={own} isOpen />
      {problems > 0 && (
        <Disclosure isOpen summary={texts.valuesCount(number(problems))}>
          <Table
            label={texts.values}
            rows={preview.problems}
            keyOf={({ line, column }) => `${line} ${column}`}
            columns={[
              { key: 'line', label: texts.line, isNumber: true, width: 56, render: ({ line }) => number(line) },
              { key: 'column', label: texts.column, render: ({ column }) => column },
              { key: 'reason', label: texts.why, text: 'wrap', inCard: 'whole', render: ({ reason }) => reason },
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
      ? texts.suchAs(title)
      : all > rows.length
        ? texts.someOf(title, all, rows.length)
        : texts.countOf(title, all)
  return (
    <Disclosure summary={summary} isOpen={isOpen}>
      <Table
        label={title}
        rows={rows}
        keyOf={({ line }) => String(line)}
        columns={[
          {
            ...{ key: 'company', label: TEXTS.words.fields.company, text: 'wrap', width: 160 },
            render: ({ key, business_name: name }) => (
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
            ...{ key: 'changes', label: isUnused ? texts.why : texts.changes, text: 'wrap', inCard: 'whole' },
            render: (row) => (isUnused ? row.reason : <Changes row={row} own={own} />),
          },
          { key: 'line', label: texts.line, isNumber: true, width: 56, render: ({ line }) => number(line) },
        ]}
      />
    </Disclosure>
  )
}

const FIELDS: Readonly<Record<string, string>> = {
  status: TEXTS.words.fields.status,
  owner: TEXTS.words.fields.owner,
  tags: TEXTS.words.fields.tags,
}

function Changes({ row: { changes }, own }: { readonly row: ImportedRow; readonly own: readonly OwnColumn[] }) {
  if (changes.length === 0) return <Text tone="soft">{texts.nothingNew}</Text>
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
            {before !== '' && <s>{textOf(before)}</s>} {value === '' ? texts.removed : <strong>{textOf(value)}</strong>}
          </Text>
        )
      })}
    </Stack>
  )
}
