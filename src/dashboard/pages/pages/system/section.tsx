import type { ComponentChildren } from 'preact'
import { Text } from '../../design/layout.tsx'
import { Notice } from '../../design/notice.tsx'
import { Section } from '../../design/page.tsx'
import { Table, type TableColumn } from '../../design/table.tsx'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.system.section

/** Why a section's data could not be read, if so. */
export interface MayFail {
  readonly failure?: string | undefined
}

interface TableSectionProps<R> extends MayFail {
  readonly title: string
  readonly columns: readonly TableColumn<R>[]
  readonly rows: readonly R[]
  readonly keyOf: (row: R) => string
  readonly none: string
  /** Below the heading. */
  readonly note?: ComponentChildren
}

/** A table with a heading. Without rows, shows `failure` or `none` instead. */
export function TableSection<R>({ title, columns, rows, keyOf, none, note, failure }: TableSectionProps<R>) {
  return (
    <Section title={title} description={note}>
      {failure !== undefined ? (
        <Notice tone="bad">
          <p>{texts.unreadable(failure)}</p>
        </Notice>
      ) : rows.length === 0 ? (
        <Text tone="soft">{none}</Text>
      ) : (
        <Table label={title} columns={columns} rows={rows} keyOf={keyOf} />
      )}
    </Section>
  )
}
