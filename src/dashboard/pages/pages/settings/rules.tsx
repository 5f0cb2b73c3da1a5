import { useState } from 'preact/hooks'
import type { Reenrichment } from '../../../../../schemas/dashboard/reenrichments.ts'
import type { RulesAnswer, RulesBody } from '../../../../../schemas/dashboard/rules.ts'
import { isHiding, type RuleKind } from '../../../../../schemas/tenant-rules.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { PastChoice } from '../../components/past-choice.tsx'
import { PastJob } from '../../components/past-job.tsx'
import { Button } from '../../design/button.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { Checkbox, FieldError, Select } from '../../design/field.tsx'
import { Row, Stack } from '../../design/layout.tsx'
import { Notice, Problem } from '../../design/notice.tsx'
import { Card, Section } from '../../design/page.tsx'
import { Loading } from '../../design/skeleton.tsx'
import { Table } from '../../design/table.tsx'
import { post } from '../../lib/api.ts'
import { number } from '../../lib/format.ts'
import { type PastChoice as Choice, pastJobStarted, pastOf } from '../../lib/past-jobs.ts'
import { useAction } from '../../lib/use-action.ts'
import { type Data, useData } from '../../lib/use-data.ts'
import { TEXTS } from '../../texts/texts.ts'
import { AddRule } from './add-rule.tsx'
import { DryRun } from './dry-run.tsx'
import { RULE_KIND_NAMES, UNCLASSIFIED_NAMES } from './rule-names.ts'

const texts = TEXTS.settings.rules

type Unclassified = RulesAnswer['unclassified']

/** Rules of a tenant: its own networks, and its noise. */
export function Rules({ tenant }: { readonly tenant: string }) {
  const path = `/api/tenants/${tenant}/rules`
  const list = useData<RulesAnswer>(path)
  return (
    <Section title={texts.title} description={texts.about}>
      <PastJob tenant={tenant} showsLast ended={list.reload} />
      {list.value === undefined ? (
        list.error === undefined ? (
          <Loading rows={3} />
        ) : (
          <Problem error={list.error} onRetry={list.reload} />
        )
      ) : (
        <Shown tenant={tenant} path={path} list={list} answer={list.value} />
      )}
    </Section>
  )
}

function Shown({
  tenant,
  path,
  list,
  answer,
}: {
  readonly tenant: string
  readonly path: string
  readonly list: Data<RulesAnswer>
  readonly answer: RulesAnswer
}) {
  const [removing, setRemoving] = useState<string>()
  const [applying, setApplying] = useState<string>()
  const [deleting, setDeleting] = useState<string>()
  const { hidden } = answer
  const hiddenOf = (rule: string) => (hidden === null ? null : (hidden[rule] ?? 0))
  const change = async (body: RulesBody) => {
    const { job } = await post<RulesAnswer>(path, body)
    if (job !== null) pastJobStarted(job)
    list.reload()
  }
  return (
    <>
      {answer.rules.length === 0 ? (
        <Notice>
          <p>{texts.none}</p>
        </Notice>
      ) : (
        <RuleTable
          rules={answer.rules}
          hiddenOf={hiddenOf}
          onRemove={setRemoving}
          onApply={setApplying}
          onDelete={setDeleting}
        />
      )}
      <AddRule path={path} change={change} />
      <UnclassifiedChoice key={answer.unclassified} path={path} current={answer.unclassified} change={change} />
      {applying !== undefined && <ApplyRule tenant={tenant} rule={applying} onClose={() => setApplying(undefined)} />}
      {deleting !== undefined && (
        <DeleteHidden
          path={path}
          rule={deleting}
          hidden={hiddenOf(deleting) ?? 0}
          onClose={() => setDeleting(undefined)}
        />
      )}
      {removing !== undefined && (
        <RemoveRule
          path={path}
          rule={removing}
          hidden={hiddenOf(removing)}
          change={change}
          onClose={() => setRemoving(undefined)}
        />
      )}
    </>
  )
}

function RuleTable({
  rules,
  hiddenOf,
  onRemove,
  onApply,
  onDelete,
}: {
  readonly rules: readonly string[]
  /** Events that a rule hides; null: not known. */
  readonly hiddenOf: (rule: string) => number | null
  readonly onRemove: (rule: string) => void
  readonly onApply: (rule: string) => void
  readonly onDelete: (rule: string) => void
}) {
  return (
    <Table
      label={texts.title}
      rows={rules}
      keyOf={(rule) => rule}
      columns={[
        { key: 'kind', label: texts.rule, render: (rule) => RULE_KIND_NAMES[kindOf(rule)] ?? kindOf(rule) },
        {
          key: 'subject',
          label: texts.of,
          inCard: 'whole',
          text: 'wrap',
          render: (rule) => <code>{rule.slice(kindOf(rule).length + 1)}</code>,
        },
        {
          key: 'hidden',
          label: texts.hiddenEvents,
          isNumber: true,
          render: (rule) => number(hiddenOf(rule) ?? 0),
        },
        {
          key: 'actions',
          label: TEXTS.words.fields.actions,
          isLabelHidden: true,
          isActions: true,
          render: (rule) => (
            <Row gap={2} justify="right" isOneLine>
              <Button size="s" aria-label={texts.applyOf(rule)} onClick={() => onApply(rule)}>
                {texts.apply}
              </Button>
              {(hiddenOf(rule) ?? 0) > 0 && (
                <Button size="s" variant="danger" aria-label={texts.deleteOf(rule)} onClick={() => onDelete(rule)}>
                  {texts.delete}
                </Button>
              )}
              <Button size="s" aria-label={texts.removeOf(rule)} onClick={() => onRemove(rule)}>
                {TEXTS.words.buttons.remove}
              </Button>
            </Row>
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
  const [past, setPast] = useState<Choice>('none')
  const saving = useAction()
  const span = pastOf(past)
  const body = { unclassified: chosen, ...(span && { past: span }) }
  const save = () => saving.run(() => change(body))
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
              label={texts.unknownType}
              value={chosen}
              error={saving.error}
              options={Object.entries(UNCLASSIFIED_NAMES).map(([value, label]) => ({ value, label }))}
              onChange={(next) => setChosen(next as Unclassified)}
            />
            {chosen !== current && <PastChoice value={past} onChange={setPast} />}
            <Button type="submit" disabled={chosen === current || saving.isBusy}>
              {TEXTS.words.buttons.save}
            </Button>
          </Row>
          <DryRun key={`${chosen} ${past}`} path={path} body={body} isEnabled={chosen !== current} />
        </Stack>
      </form>
    </Card>
  )
}

interface DeleteHiddenProps {
  /** Path of the rules. */
  readonly path: string
  readonly rule: string
  /** Events that it hides. */
  readonly hidden: number
  readonly onClose: () => void
}

/** Confirms that the visits which a rule hides are deleted for good. */
function DeleteHidden({ path, rule, hidden, onClose }: DeleteHiddenProps) {
  const remove = async () => {
    pastJobStarted(await post<Reenrichment>(`${path}/delete-hidden`, { rule }))
    onClose()
  }
  return (
    <ConfirmDialog title={texts.deleteTitle} confirm={texts.deleteForGood} onConfirm={remove} onClose={onClose}>
      <p>
        <code>{rule}</code>
      </p>
      <p>
        {texts.willDelete(hidden, (text) => (
          <strong>{text}</strong>
        ))}
      </p>
    </ConfirmDialog>
  )
}

/** Confirms the removal of a rule. */
function RemoveRule({
  path,
  rule,
  hidden,
  change,
  onClose,
}: {
  readonly path: string
  readonly rule: string
  /** Events that it hides; null: not known. */
  readonly hidden: number | null
  readonly change: (body: RulesBody) => Promise<void>
  readonly onClose: () => void
}) {
  const [past, setPast] = useState<Choice>('none')
  const span = pastOf(past)
  const body = { remove: rule, ...(span && { past: span }) }
  const remove = async () => {
    await change(body)
    onClose()
  }
  return (
    <ConfirmDialog title={texts.removeTitle} confirm={texts.remove} onConfirm={remove} onClose={onClose}>
      <p>
        <code>{rule}</code>
      </p>
      {isHiding(rule) ? (
        <>
          <p>{hidden === null || hidden > 0 ? texts.shownAgain(hidden) : texts.hidesNone}</p>
          <Checkbox
            label={texts.bringBack}
            isChecked={past === 'all'}
            onChange={(isChecked) => setPast(isChecked ? 'all' : 'none')}
          />
        </>
      ) : (
        <>
          <PastChoice value={past} onChange={setPast} />
          {past !== 'none' && <p>{texts.onlyArchive}</p>}
          <DryRun key={past} path={path} body={body} isEnabled isAutomatic />
        </>
      )}
    </ConfirmDialog>
  )
}

interface ApplyRuleProps {
  readonly tenant: string
  readonly rule: string
  readonly onClose: () => void
}

/** Applies a rule that exists to stored visits. Shows the effect before. */
function ApplyRule({ tenant, rule, onClose }: ApplyRuleProps) {
  const [choice, setChoice] = useState<Choice>('90')
  const { isBusy, error, run } = useAction()
  const past = pastOf(choice)
  const apply = () =>
    run(async () => {
      const body = { rules: [rule], past }
      pastJobStarted(await post<Reenrichment>(`/api/tenants/${tenant}/reenrichments`, body))
      onClose()
    })
  const space = rule.indexOf(' ')
  const [kind, subject] = [rule.slice(0, space) as RuleKind, rule.slice(space + 1)]
  return (
    <Dialog
      title={texts.applyTitle}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{texts.notNow}</Button>
          <Button variant="primary" disabled={isBusy || past === undefined} onClick={apply}>
            {TEXTS.words.buttons.apply}
          </Button>
        </>
      }
    >
      <p>
        <code>{rule}</code>
      </p>
      <PastChoice value={choice} onChange={setChoice} />
      <DryRun
        key={choice}
        path={`/api/tenants/${tenant}/rules`}
        body={{ add: { kind, subject }, past: past ?? { days: 90 } }}
        isEnabled={past !== undefined}
        isAutomatic
      />
      <FieldError error={error} />
    </Dialog>
  )
}
