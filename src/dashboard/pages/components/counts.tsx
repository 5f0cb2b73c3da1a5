import type { CompanySource } from '../../../../schemas/dashboard/company.ts'
import { counted, percent } from '../lib/format.ts'

/** Values with their number and share of events. */
export function Counts({
  title,
  rows,
  all,
  note,
}: {
  readonly title: string
  readonly rows: readonly CompanySource[]
  readonly all: number
  readonly note?: string | undefined
}) {
  return (
    <section class="card counts">
      <h2>{title}</h2>
      {note !== undefined && <p class="soft">{note}</p>}
      {rows.length > 0 && (
        <ul>
          {rows.map(({ value, events }) => (
            <li key={value}>
              <span class="value">{value === '' ? 'not known' : value}</span>
              <meter min={0} max={Math.max(1, all)} value={events} aria-label={`Share of ${value || 'not known'}`} />
              <span class="soft" title={counted(events, 'event')}>
                {percent(events / Math.max(1, all))}
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}
