import type { ComponentChildren } from 'preact'
import { Scroll } from '../../components/scroll.tsx'

/** Why what a section shows could not be read; undefined when it was. */
export interface MayFail {
  readonly failure?: string | undefined
}

/** A table under its heading; `failure` or `none` instead of it when there are no rows. */
export function TableSection({
  title,
  columns,
  none,
  failure,
  children,
}: MayFail & {
  readonly title: string
  /** A name that ends with `#` heads numbers. */
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
