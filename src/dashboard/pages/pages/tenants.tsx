import { Building, UserPlus } from 'lucide-preact'
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import type { ListedTenant, TenantsAnswer } from '../../../../schemas/dashboard/tenants.ts'
import { isSameZone, ownZone, UTC } from '../../../run/time-zone.ts'
import { TimeZoneInput } from '../components/time-zone.tsx'
import { Avatar } from '../design/avatar.tsx'
import { Badge } from '../design/badge.tsx'
import { Button } from '../design/button.tsx'
import { FieldError, Select, TextInput } from '../design/field.tsx'
import { Row, Stack, Text } from '../design/layout.tsx'
import { EmptyState, Problem } from '../design/notice.tsx'
import { Card, Page, Section } from '../design/page.tsx'
import { Loading } from '../design/skeleton.tsx'
import { Table } from '../design/table.tsx'
import { Time } from '../design/time.tsx'
import { post } from '../lib/api.ts'
import { withUtc } from '../lib/day-clock.ts'
import { number } from '../lib/format.ts'
import { useSession } from '../lib/session.ts'
import { useAction } from '../lib/use-action.ts'
import { useData } from '../lib/use-data.ts'
import { TEXTS } from '../texts/texts.ts'
import { Invite } from './people/invite.tsx'

const texts = TEXTS.tenants.page

type Plans = TenantsAnswer['plans']

/** All tenants, for operators: creates them, changes plans, invites people. */
export function Tenants() {
  const list = useData<TenantsAnswer>('/api/tenants')
  const session = useSession()
  const [invited, setInvited] = useState<string>()
  const changed = () => {
    list.reload()
    session.reload()
  }
  const { tenants, plans } = list.value ?? {}
  return (
    <Page title={texts.title} description={texts.about}>
      {list.error !== undefined && <Problem error={list.error} onRetry={list.reload} />}
      {tenants === undefined || plans === undefined ? (
        list.error === undefined && <Loading rows={6} />
      ) : (
        <>
          {tenants.length === 0 ? (
            <EmptyState icon={Building} title={texts.none}>
              <p>{texts.createBelow}</p>
            </EmptyState>
          ) : (
            <TenantTable tenants={tenants} plans={plans} onChanged={changed} onInvite={setInvited} />
          )}
          <CreateTenant plans={plans} onCreated={changed} />
          <PlanTable plans={plans} />
        </>
      )}
      {invited !== undefined && <Invite tenant={invited} onClose={() => setInvited(undefined)} />}
    </Page>
  )
}

interface TenantTableProps {
  readonly tenants: readonly ListedTenant[]
  readonly plans: Plans
  readonly onChanged: () => void
  readonly onInvite: (tenant: string) => void
}

function TenantTable({ tenants, plans, onChanged, onInvite }: TenantTableProps) {
  return (
    <Table
      label={texts.title}
      rows={tenants}
      keyOf={({ id }) => id}
      columns={[
        {
          key: 'tenant',
          label: texts.tenant,
          render: ({ id, deleting }) => (
            <Row gap={2} isOneLine>
              <Avatar name={id} id={id} />
              {deleting ? (
                <>
                  {id} <Badge tone="warn">{texts.deleting}</Badge>
                </>
              ) : (
                <Link href={`/t/${id}/settings`}>{id}</Link>
              )}
            </Row>
          ),
        },
        {
          key: 'plan',
          label: texts.plan,
          inCard: 'whole',
          render: (tenant) =>
            tenant.deleting ? tenant.plan : <PlanChoice tenant={tenant} plans={plans} onChanged={onChanged} />,
        },
        { key: 'created', label: texts.created, render: ({ created_at: at }) => <Time at={at} /> },
        { key: 'archive', label: texts.archive, render: ({ archive }) => (archive ? texts.on : texts.off) },
        { key: 'addresses', label: texts.addresses, render: ({ addresses }) => addresses },
        {
          key: 'actions',
          label: TEXTS.words.fields.actions,
          isLabelHidden: true,
          isActions: true,
          render: ({ id, deleting }) =>
            !deleting && (
              <Button size="s" icon={UserPlus} aria-label={texts.inviteTo(id)} onClick={() => onInvite(id)}>
                {texts.invite}
              </Button>
            ),
        },
      ]}
    />
  )
}

function CreateTenant({ plans, onCreated }: { readonly plans: Plans; readonly onCreated: () => void }) {
  const [name, setName] = useState('')
  const [plan, setPlan] = useState(plans[0]?.name ?? '')
  const [zone, setZone] = useState(ownZone)
  const [made, setMade] = useState<string>()
  const creating = useAction()
  const create = () =>
    creating.run(async () => {
      setMade(undefined)
      const { id } = await post<ListedTenant>('/api/tenants', { name, plan, time_zone: zone })
      setMade(id)
      setName('')
      onCreated()
    })
  return (
    <Card title={texts.createTitle}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          create()
        }}
      >
        <Stack gap={3}>
          <Row align="start">
            <TextInput
              label={texts.name}
              required
              maxLength={64}
              autocomplete="off"
              spellcheck={false}
              placeholder={texts.nameExample}
              value={name}
              onInput={setName}
            />
            <Select label={texts.plan} value={plan} options={optionsOf(plans)} onChange={setPlan} />
            <TimeZoneInput value={zone} error={undefined} onInput={setZone} />
          </Row>
          <Row>
            <Button type="submit" variant="primary" disabled={creating.isBusy}>
              {texts.create}
            </Button>
          </Row>
          <FieldError error={creating.error} />
          <Text role="status">
            {made !== undefined &&
              texts.createdNext(made, (text) => <Link href={`/t/${made}/settings/keys`}>{text}</Link>)}
          </Text>
        </Stack>
      </form>
    </Card>
  )
}

function optionsOf(plans: Plans) {
  return plans.map(({ name }) => ({ value: name, label: name }))
}

interface PlanChoiceProps {
  readonly tenant: ListedTenant
  readonly plans: Plans
  readonly onChanged: () => void
}

/** Changes the plan of a tenant. */
function PlanChoice({ tenant, plans, onChanged }: PlanChoiceProps) {
  const [chosen, setChosen] = useState(tenant.plan)
  const saving = useAction()
  const isKnown = plans.some(({ name }) => name === tenant.plan)
  const save = () =>
    saving.run(async () => {
      await post(`/api/tenants/${tenant.id}/plan`, { plan: chosen })
      onChanged()
    })
  return (
    <Row gap={2} isOneLine>
      <Select
        label={texts.planOf(tenant.id)}
        isLabelHidden
        isSmall
        value={chosen}
        error={saving.error}
        options={[...(isKnown ? [] : [{ value: tenant.plan, label: texts.noPlan(tenant.plan) }]), ...optionsOf(plans)]}
        onChange={setChosen}
      />
      <Button
        size="s"
        aria-label={texts.savePlanOf(tenant.id)}
        disabled={chosen === tenant.plan || saving.isBusy}
        onClick={save}
      >
        {TEXTS.words.buttons.save}
      </Button>
    </Row>
  )
}

function PlanTable({ plans }: { readonly plans: Plans }) {
  const zones = Object.values(useSession().time_zones)
  const isUtc = zones.every((zone) => isSameZone(zone, UTC))
  return (
    <Section title={texts.plans}>
      <Table
        label={texts.plans}
        rows={plans}
        keyOf={({ name }) => name}
        columns={[
          { key: 'plan', label: texts.plan, render: ({ name }) => name },
          { key: 'rate', label: texts.rate, isNumber: true, render: ({ limits }) => number(limits.rate) },
          { key: 'burst', label: texts.atOnce, isNumber: true, render: ({ limits }) => number(limits.burst) },
          {
            key: 'lookups',
            label: withUtc(texts.lookups, isUtc),
            isNumber: true,
            render: ({ limits }) => number(limits.daily_lookups),
          },
          {
            key: 'accounts',
            label: withUtc(texts.accounts, isUtc),
            isNumber: true,
            render: ({ limits }) => number(limits.monthly_accounts),
          },
        ]}
      />
    </Section>
  )
}
