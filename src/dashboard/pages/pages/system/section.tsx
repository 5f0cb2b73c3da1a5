import type { ComponentChildren } from 'preact'
import { Scroll } from '../../components/scroll.tsx'

/** A table under its heading; `none` instead of it when there are no rows. */
export function TableSection({
  title,
  columns,
  none,
  children,
}: {
  readonly title: string
  /** A name that ends with `#` heads numbers. */
  readonly columns: readonly string[]
  readonly none: string
  readonly children: readonly ComponentChildren[]
}) {
  return (
    <section class="system-section">
      <h2>{title}</h2>
      {children.length === 0 ? (
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
