import { Fragment } from 'preact'
import { useState } from 'preact/hooks'
import type { ExplainedAddress, PageLookupAnswer } from '../../../../../schemas/dashboard/lookup.ts'
import { number } from '../../lib/format.ts'
import { Explanation } from './explanation.tsx'

/** Rows to draw at first, because a thousand take seconds on a slow machine. */
const ROWS_AT_FIRST = 100

/** A row for each address. It expands to the sources of its values. */
export function Results({ answer, tenant }: { readonly answer: PageLookupAnswer; readonly tenant: string }) {
  const { results, skipped, skipped_count, asked, attributions } = answer
  const [isWhole, setWhole] = useState(false)
  const shown = isWhole ? results : results.slice(0, ROWS_AT_FIRST)
  const kept = results.filter(({ status }) => status === 'ok').length
  return (
    <section aria-labelledby="results-heading">
      <div role="status">
        <h2 id="results-heading">
          {number(results.length)} {results.length === 1 ? 'address' : 'addresses'}: events of {number(kept)} would be
          kept, {number(results.length - kept)} filtered
        </h2>
      </div>
      <p class="soft">As the rules of {tenant} judge them.</p>
      {skipped_count > 0 && (
        <p class="note warning">
          {number(skipped_count)} {skipped_count === 1 ? 'word is not an address' : 'words are not addresses'}:{' '}
          <code>{skipped.join(' ')}</code>
          {skipped_count > skipped.length && ' …'}
        </p>
      )}
      <div class="table stacked">
        <table>
          <thead>
            <tr>
              <th>Address</th>
              <th>Organisation</th>
              <th>Class</th>
              <th class="beside">Country</th>
              <th>Events</th>
              <th class="number beside">Quality</th>
              <th>
                <span class="hidden-label">Explanation</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {shown.map((result) => (
              <Row key={result.ip} result={result} asked={asked} isOpenAtFirst={results.length === 1} />
            ))}
          </tbody>
        </table>
      </div>
      {shown.length < results.length && (
        <p>
          <button type="button" onClick={() => setWhole(true)}>
            Show the other {number(results.length - shown.length)}
          </button>
        </p>
      )}
      {attributions.map(({ provider, text }) => (
        <p key={provider} class="soft attribution">
          {provider}: {text}
        </p>
      ))}
    </section>
  )
}

function Row({
  result,
  asked,
  isOpenAtFirst,
}: {
  readonly result: ExplainedAddress
  readonly asked: readonly string[]
  readonly isOpenAtFirst: boolean
}) {
  const [isOpen, setOpen] = useState(isOpenAtFirst)
  const { ip, status, classification, quality, tenant_rule } = result
  const id = `explanation-${ip}`
  return (
    <Fragment>
      <tr>
        <td>
          <code>{ip}</code>
        </td>
        <td>{firstOf(result, 'business_name', 'org_name', 'as_name') ?? <span class="soft">not known</span>}</td>
        <td>{classification ?? <span class="soft">–</span>}</td>
        <td class="beside">{firstOf(result, 'country', 'country_code') ?? <span class="soft">–</span>}</td>
        <td class="judged">
          <span class={status === 'ok' ? 'tag good' : 'tag'}>{status === 'ok' ? 'kept' : 'filtered'}</span>
          {tenant_rule !== null && <span class="soft"> by a rule</span>}
        </td>
        <td class="number beside">{quality}</td>
        <td class="actions">
          <button
            type="button"
            aria-expanded={isOpen}
            aria-controls={isOpen ? id : undefined}
            aria-label={`${isOpen ? 'Hide' : 'Why?'} ${ip}`}
            onClick={() => setOpen(!isOpen)}
          >
            {isOpen ? 'Hide' : 'Why?'}
          </button>
        </td>
      </tr>
      {isOpen && (
        <tr id={id}>
          <td colSpan={7} class="explanation whole">
            <Explanation result={result} asked={asked} />
          </td>
        </tr>
      )}
    </Fragment>
  )
}

function firstOf(result: ExplainedAddress, ...names: readonly string[]): string | undefined {
  for (const wanted of names) {
    const found = result.attributes.find(({ name }) => name === wanted)
    if (found !== undefined) return String(found.value)
  }
  return undefined
}
