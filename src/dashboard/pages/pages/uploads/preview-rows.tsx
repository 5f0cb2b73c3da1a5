import type { PreviewRow } from '../../../../../schemas/dashboard/uploads.ts'
import { ClassName, CompanyName, StatusTag } from '../../components/judgement.tsx'
import { Scroll } from '../../components/scroll.tsx'
import { number } from '../../lib/format.ts'
import { whyOf } from '../../lib/live-tail.ts'

/** The first rows with their results. */
export function PreviewRows({ rows }: { readonly rows: readonly PreviewRow[] }) {
  if (rows.length === 0) return null
  return (
    <>
      <p role="status">{summaryOf(rows)}</p>
      <Scroll label="Preview">
        <table class="preview-rows">
          <caption class="hidden-label">The first rows, and what each would become</caption>
          <thead>
            <tr>
              <th scope="col">Line</th>
              <th scope="col">Becomes</th>
              <th scope="col">Company</th>
              <th scope="col">Class</th>
              <th scope="col">Why</th>
              <th scope="col">Event</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <Row key={row.line} row={row} />
            ))}
          </tbody>
        </table>
      </Scroll>
      <p class="soft">By today's data and rules; earlier events are not compared. Nothing is stored or counted yet.</p>
    </>
  )
}

function Row({ row: { line, event, problem, becomes, repeat_of: repeatOf } }: { readonly row: PreviewRow }) {
  return (
    <tr class={problem === null ? '' : 'wrong'}>
      <td class="number">{number(line)}</td>
      {becomes === null ? (
        <>
          <td>
            <span class="tag bad">nothing</span>
          </td>
          <td class="preview-why bad" colSpan={3}>
            {problem}
          </td>
        </>
      ) : (
        <>
          <td>{repeatOf === null ? <StatusTag status={becomes.status} /> : <span class="tag warn">repeat</span>}</td>
          <td class="preview-why">
            <CompanyName {...becomes} />
          </td>
          <td>
            <ClassName {...becomes} />
          </td>
          <td class="preview-why">
            {repeatOf === null ? whyOf(becomes) : `its event_id is that of line ${number(repeatOf)}: it counts once`}
          </td>
        </>
      )}
      <td class="preview-event">{event !== null && <code>{event}</code>}</td>
    </tr>
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
