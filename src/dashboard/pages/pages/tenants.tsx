import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import type { ListedTenant, TenantsAnswer } from '../../../../schemas/dashboard/tenants.ts'
import { FieldError } from '../components/field-error.tsx'
import { Empty, Loading, Problem } from '../components/notes.tsx'
import { Time } from '../components/time.tsx'
import { post } from '../lib/api.ts'
import { number } from '../lib/format.ts'
import { useSession } from '../lib/session.ts'
import { useAction } from '../lib/use-action.ts'
import { useData } from '../lib/use-data.ts'
import { Invite } from './people/invite.tsx'

type Plans = TenantsAnswer['plans']

/** All tenants, for operators: creates them, changes plans, creates links for members. */
export function Tenants() {
  const list = useData<TenantsAnswer>('/api/tenants')
  const session = useSession()
  const [invited, setInvited] = useState<string>()
  const changed = () => {
    list.reload()
    session.reload()
  }
  if (list.value === undefined) {
    return list.error === undefined ? <Loading /> : <Problem error={list.error} onRetry={list.reload} />
  }
  const { tenants, plans } = list.value
  return (
    <div class="settings">
      <h1>Tenants</h1>
      <CreateTenant plans={plans} onCreated={changed} />
      {tenants.length === 0 ? (
        <Empty title="There is no tenant yet">
          <p>Every event belongs to a tenant. Create the first above, then generate a key in its settings.</p>
        </Empty>
      ) : (
        <div class="table stacked">
          <table>
            <thead>
              <tr>
                <th>Tenant</th>
                <th>Plan</th>
                <th>Created</th>
                <th>Archive</th>
                <th>Addresses</th>
                <th>
                  <span class="hidden-label">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {tenants.map((tenant) => (
                <tr key={tenant.id}>
                  <td>
                    {tenant.deleting ? (
                      <>
                        {tenant.id} <span class="tag warn">being deleted</span>
                      </>
                    ) : (
                      <Link href={`/t/${tenant.id}/settings`}>{tenant.id}</Link>
                    )}
                  </td>
                  <td>
                    {tenant.deleting ? tenant.plan : <PlanChoice tenant={tenant} plans={plans} onChanged={changed} />}
                  </td>
                  <td data-label="Created">
                    <Time at={tenant.created_at} />
                  </td>
                  <td data-label="Archive">{tenant.archive ? 'on' : 'off'}</td>
                  <td data-label="Addresses">{tenant.addresses}</td>
                  <td class="actions">
                    {!tenant.deleting && (
                      <button
                        type="button"
                        aria-label={`Invite a person to ${tenant.id}`}
                        onClick={() => setInvited(tenant.id)}
                      >
                        Invite a person
                      </button>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <PlanTable plans={plans} />
      {invited !== undefined && <Invite tenant={invited} onClose={() => setInvited(undefined)} />}
    </div>
  )
}

function CreateTenant({ plans, onCreated }: { readonly plans: Plans; readonly onCreated: () => void }) {
  const [name, setName] = useState('')
  const [plan, setPlan] = useState(plans[0]?.name ?? '')
  const [made, setMade] = useState<string>()
  const creating = useAction()
  const create = () =>
    creating.run(async () => {
      setMade(undefined)
      const { id } = await post<ListedTenant>('/api/tenants', { name, plan })
      setMade(id)
      setName('')
      onCreated()
    })
  return (
    <form
      class="card"
      onSubmit={(event) => {
        event.preventDefault()
        create()
      }}
    >
      <h2>Create a tenant</h2>
      <div class="row">
        <label class="field">
          <span>Name: a-z, 0-9 and -, for ever</span>
          <input
            required
            maxLength={64}
            autocomplete="off"
            spellcheck={false}
            aria-describedby="tenant-error"
            aria-invalid={creating.error !== undefined}
            value={name}
            onInput={(event) => setName(event.currentTarget.value)}
          />
        </label>
        <label class="field">
          <span>Plan</span>
          <select value={plan} onChange={(event) => setPlan(event.currentTarget.value)}>
            {plans.map(({ name }) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <button type="submit" class="primary" disabled={creating.isBusy}>
          Create tenant
        </button>
      </div>
      <FieldError id="tenant-error" error={creating.error} />
      <p role="status">
        {made !== undefined && (
          <>
            {made} was created. Next: <Link href={`/t/${made}/settings`}>generate its first key</Link>
          </>
        )}
      </p>
    </form>
  )
}

/** Changes the plan of a tenant. */
function PlanChoice({
  tenant,
  plans,
  onChanged,
}: {
  readonly tenant: ListedTenant
  readonly plans: Plans
  readonly onChanged: () => void
}) {
  const [chosen, setChosen] = useState(tenant.plan)
  const saving = useAction()
  const names = plans.map(({ name }) => name)
  const save = () =>
    saving.run(async () => {
      await post(`/api/tenants/${tenant.id}/plan`, { plan: chosen })
      onChanged()
    })
  return (
    <div class="plan-choice">
      <select
        value={chosen}
        aria-label={`Plan of ${tenant.id}`}
        aria-describedby={`plan-error-${tenant.id}`}
        onChange={(event) => setChosen(event.currentTarget.value)}
      >
        {!names.includes(tenant.plan) && <option value={tenant.plan}>{tenant.plan} (does not exist)</option>}
        {names.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
      <button
        type="button"
        aria-label={`Save the plan of ${tenant.id}`}
        disabled={chosen === tenant.plan || saving.isBusy}
        onClick={save}
      >
        Save
      </button>
      <FieldError id={`plan-error-${tenant.id}`} error={saving.error} />
    </div>
  )
}

function PlanTable({ plans }: { readonly plans: Plans }) {
  return (
    <section aria-labelledby="plans-heading">
      <h2 id="plans-heading">Plans</h2>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrolling needs the keyboard */}
      <div class="table" tabIndex={0}>
        <table aria-labelledby="plans-heading">
          <thead>
            <tr>
              <th>Plan</th>
              <th class="number">Requests a second</th>
              <th class="number">At once</th>
              <th class="number">Lookups a day (UTC)</th>
              <th class="number">Tracked accounts a month (UTC)</th>
            </tr>
          </thead>
          <tbody>
            {plans.map(({ name, limits }) => (
              <tr key={name}>
                <td>{name}</td>
                <td class="number">{number(limits.rate)}</td>
                <td class="number">{number(limits.burst)}</td>
                <td class="number">{number(limits.daily_lookups)}</td>
                <td class="number">{number(limits.monthly_accounts)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}
