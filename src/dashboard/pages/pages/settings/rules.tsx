import { useState } from 'preact/hooks'
import type { RulesAnswer, RulesBody } from '../../../../../schemas/dashboard/rules.ts'
import { FieldError } from '../../components/field-error.tsx'
import { Loading, Problem } from '../../components/notes.tsx'
import { post } from '../../lib/api.ts'
import { useAction } from '../../lib/use-action.ts'
import { type Data, useData } from '../../lib/use-data.ts'
import { AddRule } from './add-rule.tsx'
import { DryRun } from './dry-run.tsx'
import { RemoveRule } from './remove-rule.tsx'
import { RULE_KIND_NAMES, UNCLASSIFIED_NAMES } from './rule-names.ts'

type Unclassified = RulesAnswer['unclassified']

/** Rules of a tenant: its own networks, and what is noise. */
export function Rules({ tenant }: { readonly tenant: string }) {
  const path = `/api/tenants/${tenant}/rules`
  const list = useData<RulesAnswer>(path)
  return (
    <section aria-labelledby="rules-heading">
      <h2 id="rules-heading">Rules</h2>
      <p class="soft">
        Define which traffic is yours, which is noise, and whose network it is. A change takes effect within seconds,
        for events received from then on; what is stored stays.
      </p>
      {list.value === undefined ? (
        list.error === undefined ? (
          <Loading />
        ) : (
          <Problem error={list.error} onRetry={list.reload} />
        )
      ) : (
        <Shown path={path} list={list} answer={list.value} />
      )}
    </section>
  )
}

function Shown({
  path,
  list,
  answer,
}: {
  readonly path: string
  readonly list: Data<RulesAnswer>
  readonly answer: RulesAnswer
}) {
  const [removing, setRemoving] = useState<string>()
  const change = async (body: RulesBody) => {
    await post<RulesAnswer>(path, body)
    list.reload()
  }
  return (
    <>
      {answer.rules.length === 0 ? (
        <p class="note soft">
          There is no rule yet. A common first one is your own network, so that your team is not counted.
        </p>
      ) : (
        <RuleTable rules={answer.rules} onRemove={setRemoving} />
      )}
      <AddRule path={path} change={change} />
      <UnclassifiedChoice key={answer.unclassified} path={path} current={answer.unclassified} change={change} />
      {removing !== undefined && (
        <RemoveRule path={path} rule={removing} change={change} onClose={() => setRemoving(undefined)} />
      )}
    </>
  )
}

function RuleTable({
  rules,
  onRemove,
}: {
  readonly rules: readonly string[]
  readonly onRemove: (rule: string) => void
}) {
  return (
    <div class="table stacked">
      <table>
        <thead>
          <tr>
            <th>Rule</th>
            <th>Of</th>
            <th>
              <span class="hidden-label">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rules.map((rule) => {
            const space = rule.indexOf(' ')
            const kind = rule.slice(0, space)
            return (
              <tr key={rule}>
                <td>{RULE_KIND_NAMES[kind as keyof typeof RULE_KIND_NAMES] ?? kind}</td>
                <td>
                  <code>{rule.slice(space + 1)}</code>
                </td>
                <td class="actions">
                  <button type="button" aria-label={`Remove ${rule}`} onClick={() => onRemove(rule)}>
                    Remove
                  </button>
                </td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}

/** How to treat organisations without a class. */
function UnclassifiedChoice({
  path,
  current,
  change,
}: {
  readonly path: string
  readonly current: Unclassified
  readonly change: (body: RulesBody) => Promise<void>
}) {
  const [chosen, setChosen] = useState(current)
  const saving = useAction()
  const save = () => saving.run(() => change({ unclassified: chosen }))
  return (
    <form
      class="card"
      onSubmit={(event) => {
        event.preventDefault()
        save()
      }}
    >
      <div class="row">
        <label class="field">
          <span>Organisations of unknown class</span>
          <select
            value={chosen}
            aria-describedby="unclassified-error"
            onChange={(event) => setChosen(event.currentTarget.value as Unclassified)}
          >
            {Object.entries(UNCLASSIFIED_NAMES).map(([value, name]) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <button type="submit" disabled={chosen === current || saving.isBusy}>
          Save
        </button>
      </div>
      <FieldError id="unclassified-error" error={saving.error} />
      <DryRun key={chosen} path={path} body={{ unclassified: chosen }} isEnabled={chosen !== current} />
    </form>
  )
}
