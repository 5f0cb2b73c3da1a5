import type { ComponentChildren } from 'preact'
import { Scroll } from '../../components/scroll.tsx'

/** Why a section's data could not be read, if so. */
export interface MayFail {
  readonly failure?: string | undefined
}

/** A table with a heading. Without rows, shows `failure` or `none` instead. */
export function TableSection({
  title,
  columns,
  none,
  failure,
  children,
}: MayFail & {
  readonly title: string
  /** A trailing `#` marks a numeric column. */
  readonly columns: readonly string[]
  readonly none: string
  readonly children: readonly ComponentChildren[]
}) {
  return (
    <section class="system-section">
      <h2>{title}</h2>
      {failure !== undefined ? (
        <p class="note problem">Cannot be read: {failure}</p>
      ) : children.length === 0 ? (
        <p class="note soft">{none}</p>
      ) : (
        <Scroll label={title}>
          <table>
            <thead>
              <tr>
                {columns.map((column) => (
                  <th key={column} class={column.endsWith('#') ? 'number' : undefined}>
                    {column.replace('#', '')}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>{children}</tbody>
          </table>
        </Scroll>
      )}
    </section>
  )
}
