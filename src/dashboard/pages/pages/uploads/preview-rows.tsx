import type { PreviewRow } from '../../../../../schemas/dashboard/uploads.ts'
import { number } from '../../lib/format.ts'

/** The first rows, and what each would become. */
export function PreviewRows({ rows }: { readonly rows: readonly PreviewRow[] }) {
  if (rows.length === 0) return null
  const wrong = rows.filter(({ problem }) => problem !== null).length
  return (
    <>
      <p role="status">
        {wrong === 0
          ? `The first ${number(rows.length)} rows are fine.`
          : `Of the first ${number(rows.length)} rows, ${number(wrong)} ${wrong === 1 ? 'has' : 'have'} a problem.`}
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard */}
      <section class="table" aria-label="Preview" tabIndex={0}>
        <table class="preview-rows">
          <caption class="hidden-label">The first rows, and what each would become</caption>
          <thead>
            <tr>
              <th scope="col">Line</th>
              <th scope="col">Becomes</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ line, event, problem }) => (
              <tr key={line} class={problem === null ? '' : 'wrong'}>
                <td class="number">{number(line)}</td>
                <td>
                  {problem !== null && <p class="bad">{problem}</p>}
                  {event !== null && <code>{event}</code>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </>
  )
}
