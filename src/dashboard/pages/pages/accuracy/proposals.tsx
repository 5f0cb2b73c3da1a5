import { useState } from 'preact/hooks'
import type { ProposalsAnswer } from '../../../../../schemas/dashboard/accuracy.ts'
import type { RulesAnswer, RulesBody } from '../../../../../schemas/dashboard/rules.ts'
import { FieldError } from '../../components/field-error.tsx'
import { Loading, Problem } from '../../components/notes.tsx'
import { post } from '../../lib/api.ts'
import { counted, number, percent } from '../../lib/format.ts'
import { useAction } from '../../lib/use-action.ts'
import { useData } from '../../lib/use-data.ts'

const KIND = 'is '

/** Networks that keep meeting one domain, and the rules that were made of them. */
export function Proposals({ tenant }: { readonly tenant: string }) {
  const { value, error, reload } = useData<ProposalsAnswer>(`/api/tenants/${tenant}/accuracy/proposals`)
  const changing = useAction()
  const [busy, setBusy] = useState<string>()
  const change = (subject: string, body: RulesBody) =>
    changing.run(async () => {
      setBusy(subject)
      try {
        await post<RulesAnswer>(`/api/tenants/${tenant}/rules`, body)
        reload()
      } finally {
        setBusy(undefined)
      }
    })
  return (
    <section aria-labelledby="proposals-heading">
      <h2 id="proposals-heading">Networks that keep meeting one company</h2>
      <p class="soft">
        At least 3 people with mail of one domain were met there, on 3 days, and hardly anybody else. A network of more
        than one address needs such people in each of its halves. Accept one, and its visits belong to that company from
        then on.
      </p>
      {value === undefined ? (
        error === undefined ? (
          <Loading />
        ) : (
          <Problem error={error} onRetry={reload} />
        )
      ) : (
        <>
          {value.proposals.length === 0 ? (
            <p class="note soft">
              No proposal now. Visits from access providers are not stored; the rule <code>keep isp</code> stores them,
              so that their business customers are found.
            </p>
          ) : (
            <ProposalTable
              proposals={value.proposals}
              busy={busy}
              onAccept={(subject) => change(subject, { add: { kind: 'is', subject } })}
            />
          )}
          <FieldError id="proposals-error" error={changing.error} />
          {value.rules.length > 0 && (
            <RuleList rules={value.rules} busy={busy} onUndo={(rule) => change(rule, { remove: rule })} />
          )}
        </>
      )}
    </section>
  )
}

function ProposalTable({
  proposals,
  busy,
  onAccept,
}: {
  readonly proposals: ProposalsAnswer['proposals']
  readonly busy: string | undefined
  readonly onAccept: (subject: string) => void
}) {
  return (
    <div class="table stacked">
      <table>
        <thead>
          <tr>
            <th>Network</th>
            <th>Company</th>
            <th>Now</th>
            <th class="number">People</th>
            <th class="number">Days</th>
            <th class="number">Events</th>
            <th>
              <span class="hidden-label">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {proposals.map(({ id, subject, network, domain, now, people, share, days, events }) => (
            <tr key={id}>
              <td>
                <code>{network}</code>
              </td>
              <td>{domain}</td>
              <td class="soft">now {now ?? 'no company'}</td>
              <td class="number">
                {counted(people, 'person', 'people')} ({percent(share)})
              </td>
              <td class="number">{counted(days, 'day')}</td>
              <td class="number">{number(events)} sign-ups</td>
              <td class="actions">
                <button
                  type="button"
                  aria-label={`Accept ${subject}`}
                  disabled={busy !== undefined}
                  onClick={() => onAccept(subject)}
                >
                  Accept
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function RuleList({
  rules,
  busy,
  onUndo,
}: {
  readonly rules: readonly string[]
  readonly busy: string | undefined
  readonly onUndo: (rule: string) => void
}) {
  return (
    <>
      <h3>Accepted</h3>
      <ul class="accepted">
        {rules.map((rule) => (
          <li key={rule}>
            <code>{rule.slice(KIND.length)}</code>
            <button
              type="button"
              aria-label={`Undo ${rule.slice(KIND.length)}`}
              disabled={busy !== undefined}
              onClick={() => onUndo(rule)}
            >
              Undo
            </button>
          </li>
        ))}
      </ul>
      <p class="soft">
        Stored visits stay as they were until they are judged again: <code>./ipid replay --reenrich</code>.
      </p>
    </>
  )
}
