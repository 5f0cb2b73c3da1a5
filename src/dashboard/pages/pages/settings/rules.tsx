import { useState } from 'preact/hooks'
import type { RulesAnswer, RulesBody } from '../../../../../schemas/dashboard/rules.ts'
import { Button } from '../../design/button.tsx'
import { Select } from '../../design/field.tsx'
import { Row, Stack } from '../../design/layout.tsx'
import { Notice, Problem } from '../../design/notice.tsx'
import { Card, Section } from '../../design/page.tsx'
import { Loading } from '../../design/skeleton.tsx'
import { Table } from '../../design/table.tsx'
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
    <Section
      title="Rules"
      description="Define which traffic is yours, which is noise, and whose network it is. A change takes effect within seconds, for events received from then on; what is stored stays."
    >
      {list.value === undefined ? (
        list.error === undefined ? (
          <Loading rows={3} />
        ) : (
          <Problem error={list.error} onRetry={list.reload} />
        )
      ) : (
        <Shown path={path} list={list} answer={list.value} />
      )}
    </Section>
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
        <Notice>
          <p>There is no rule yet. A common first one is your own network, so that your team is not counted.</p>
        </Notice>
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
    <Table
      label="Rules"
      rows={rules}
      keyOf={(rule) => rule}
      columns={[
        { key: 'kind', label: 'Rule', render: (rule) => RULE_KIND_NAMES[kindOf(rule)] ?? kindOf(rule) },
        {
          key: 'subject',
          label: 'Of',
          inCard: 'whole',
          text: 'wrap',
          render: (rule) => <code>{rule.slice(kindOf(rule).length + 1)}</code>,
        },
        {
          key: 'actions',
          label: 'Actions',
          isLabelHidden: true,
          isActions: true,
          render: (rule) => (
            <Button size="s" aria-label={`Remove ${rule}`} onClick={() => onRemove(rule)}>
              Remove
            </Button>
          ),
        },
      ]}
    />
  )
}

function kindOf(rule: string): keyof typeof RULE_KIND_NAMES {
  return rule.slice(0, rule.indexOf(' ')) as keyof typeof RULE_KIND_NAMES
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
    <Card>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          save()
        }}
      >
        <Stack>
          <Row align="end">
            <Select
              label="Organisations of unknown class"
              value={chosen}
              error={saving.error}
              options={Object.entries(UNCLASSIFIED_NAMES).map(([value, label]) => ({ value, label }))}
              onChange={(next) => setChosen(next as Unclassified)}
            />
            <Button type="submit" disabled={chosen === current || saving.isBusy}>
              Save
            </Button>
          </Row>
          <DryRun key={chosen} path={path} body={{ unclassified: chosen }} isEnabled={chosen !== current} />
        </Stack>
      </form>
    </Card>
  )
}
