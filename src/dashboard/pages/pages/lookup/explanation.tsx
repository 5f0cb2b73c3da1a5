import type { ExplainedAddress } from '../../../../../schemas/dashboard/lookup.ts'
import { wordNote } from '../../lib/word-note.ts'

/** Sources of an address's values and the deciding rule, as in `ipid enrich --explain`. */
export function Explanation({
  result,
  asked,
}: {
  readonly result: ExplainedAddress
  readonly asked: readonly string[]
}) {
  const { attributes, rule, tenant_rule, company_id, quality, answered, partial, classification } = result
  return (
    <div class="reasons">
      {attributes.length > 0 && (
        <table>
          <thead>
            <tr>
              <th>Attribute</th>
              <th>Value</th>
              <th>Provider</th>
              <th>Network or rule</th>
            </tr>
          </thead>
          <tbody>
            {attributes.map(({ name, value, provider, network, word, precision }) => (
              <tr key={name}>
                <td>{name}</td>
                <td>{String(value)}</td>
                <td>{provider || '–'}</td>
                <td>
                  {word === null ? (
                    <code>{name === 'classification' ? rule : network}</code>
                  ) : (
                    wordNote(word, precision)
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <dl>
        <dt>Rule of the tenant</dt>
        <dd>{tenant_rule === null ? 'none decides' : <code>{tenant_rule}</code>}</dd>
        <dt>Rule of the class</dt>
        <dd>
          <code>{rule}</code>
        </dd>
        <dt>Counts for the account</dt>
        <dd>{company_id ?? 'none'}</dd>
        <dt>Quality</dt>
        <dd>{quality} of 100</dd>
        <dt>Asked</dt>
        <dd>{classification === 'reserved' ? 'none: it is a reserved address' : asked.join(', ') || 'none'}</dd>
        <dt>Answered</dt>
        <dd>{answered.join(', ') || 'none'}</dd>
        {partial.length > 0 && (
          <>
            <dt>Too slow to answer</dt>
            <dd>{partial.join(', ')}</dd>
          </>
        )}
      </dl>
    </div>
  )
}
