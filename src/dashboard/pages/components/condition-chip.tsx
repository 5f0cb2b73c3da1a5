import { Pencil, Plus, X } from 'lucide-preact'
import { useState } from 'preact/hooks'
import type { ConditionAnswer, ConditionGroup } from '../../../../schemas/dashboard/companies.ts'
import { Button, IconButton } from '../design/button.tsx'
import { Chip } from '../design/chip.tsx'
import { Dialog } from '../design/dialog.tsx'
import { FieldError, Select, TextArea, TextInput } from '../design/field.tsx'
import { Row, Stack, Text } from '../design/layout.tsx'
import { sentence } from '../design/notice.tsx'
import { Loading } from '../design/skeleton.tsx'
import { get } from '../lib/api.ts'
import { conditionText, EMPTY_GROUPS, KINDS, TERMS, termId } from '../lib/condition.ts'
import { useAction } from '../lib/use-action.ts'
import { useData } from '../lib/use-data.ts'

interface ConditionChipProps {
  readonly tenant: string
  /** Empty: it does not filter. */
  readonly condition: string
  readonly isOpenAtFirst: boolean
  readonly onChange: (condition: string) => void
}

/** A condition with any of, all of and none of. One that the page cannot draw is edited as text. */
export function ConditionChip({ tenant, condition, isOpenAtFirst, onChange }: ConditionChipProps) {
  const [isEdited, setEdited] = useState(isOpenAtFirst)
  const apply = (next: string) => {
    setEdited(false)
    onChange(next)
  }
  return (
    <>
      <Chip label="Also" summary={condition === '' ? undefined : condition} onClear={() => onChange('')}>
        {(close) => (
          <Stack gap={3}>
            {condition !== '' && <code>{condition}</code>}
            <Row>
              <Button
                size="s"
                icon={Pencil}
                onClick={() => {
                  close()
                  setEdited(true)
                }}
              >
                Edit
              </Button>
            </Row>
          </Stack>
        )}
      </Chip>
      {isEdited && (
        <ConditionDialog tenant={tenant} condition={condition} onApply={apply} onClose={() => setEdited(false)} />
      )}
    </>
  )
}

type DialogProps = Pick<ConditionChipProps, 'tenant' | 'condition'> & {
  readonly onApply: (condition: string) => void
  readonly onClose: () => void
}

function ConditionDialog(props: DialogProps) {
  const { tenant, condition, onClose } = props
  const path = `/api/tenants/${tenant}/companies/condition`
  const known = useData<ConditionAnswer>(condition === '' ? undefined : path, { condition })
  const isReady = condition === '' || known.value !== undefined || known.error !== undefined
  return (
    <Dialog title="Companies must also have" isWide onClose={onClose}>
      {isReady ? (
        <Editor
          {...props}
          path={path}
          groups={condition === '' ? EMPTY_GROUPS : (known.value?.groups ?? undefined)}
          problem={known.error?.message}
        />
      ) : (
        <Loading rows={3} />
      )}
    </Dialog>
  )
}

interface EditorProps extends DialogProps {
  readonly path: string
  /** Undefined: it is edited as text. */
  readonly groups: readonly ConditionGroup[] | undefined
  /** Why the condition cannot be read. */
  readonly problem: string | undefined
}

function Editor({ path, condition, groups: drawn, problem, onApply, onClose }: EditorProps) {
  const [groups, setGroups] = useState(drawn)
  const [text, setText] = useState(condition)
  const applying = useAction()
  const apply = () =>
    applying.run(async () => {
      const wanted = groups === undefined ? text.trim() : conditionText(groups)
      onApply(wanted === '' ? '' : (await get<ConditionAnswer>(path, { condition: wanted })).condition)
    })
  const asText = () => {
    setText(conditionText(groups!))
    setGroups(undefined)
    applying.reset()
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        apply()
      }}
    >
      <Stack>
        {groups === undefined ? (
          <TextArea
            label="Condition"
            isMono
            rows={4}
            spellcheck={false}
            value={text}
            hint={
              <>
                Terms such as <code>country=DE</code>, <code>tag!=customer</code>, <code>heat&gt;=50</code> and{' '}
                <code>page~/pricing</code>, with <code>and</code>, <code>or</code>, <code>not</code> and parentheses.
              </>
            }
            error={problemText(applying.error ?? problem)}
            onInput={setText}
          />
        ) : (
          <>
            <Groups groups={groups} onChange={setGroups} />
            <FieldError error={problemText(applying.error)} />
          </>
        )}
        <Row justify={groups === undefined ? 'right' : 'between'}>
          {groups !== undefined && (
            <Button variant="quiet" onClick={asText}>
              Write it as text
            </Button>
          )}
          <Row gap={2}>
            <Button onClick={onClose}>Cancel</Button>
            <Button type="submit" variant="primary" disabled={applying.isBusy}>
              Apply
            </Button>
          </Row>
        </Row>
      </Stack>
    </form>
  )
}

function problemText(problem: string | undefined): string | undefined {
  return problem === undefined ? undefined : sentence(problem)
}

interface GroupsProps {
  readonly groups: readonly ConditionGroup[]
  readonly onChange: (groups: readonly ConditionGroup[]) => void
}

function Groups({ groups, onChange }: GroupsProps) {
  const changed = (at: number, group: ConditionGroup) => onChange(groups.map((each, i) => (i === at ? group : each)))
  return (
    <Stack gap={5}>
      {groups.map((group, i) => (
        <Stack key={i} gap={2}>
          <Row gap={2} align="end">
            <Select
              label={i === 0 ? 'Companies have' : 'And they have'}
              value={group.kind}
              options={KINDS.map(([value, label]) => ({ value, label }))}
              onChange={(kind) => changed(i, { ...group, kind: kind as ConditionGroup['kind'] })}
            />
          </Row>
          {group.terms.map((term, n) => (
            <TermRow
              key={n}
              term={term}
              onChange={(next) =>
                changed(i, { ...group, terms: group.terms.map((each, k) => (k === n ? next : each)) })
              }
              onRemove={() => {
                const terms = group.terms.filter((_, k) => k !== n)
                if (terms.length > 0) changed(i, { ...group, terms })
                else onChange(groups.filter((_, k) => k !== i))
              }}
            />
          ))}
          <Row>
            <Button
              size="s"
              variant="quiet"
              icon={Plus}
              onClick={() => changed(i, { ...group, terms: [...group.terms, EMPTY_GROUPS[0]!.terms[0]!] })}
            >
              Add a term
            </Button>
          </Row>
        </Stack>
      ))}
      {groups.length === 0 && <Text tone="soft">No condition.</Text>}
      <Row>
        <Button size="s" icon={Plus} onClick={() => onChange([...groups, ...EMPTY_GROUPS])}>
          Add a group
        </Button>
      </Row>
    </Stack>
  )
}

interface TermRowProps {
  readonly term: ConditionGroup['terms'][number]
  readonly onChange: (term: ConditionGroup['terms'][number]) => void
  readonly onRemove: () => void
}

function TermRow({ term, onChange, onRemove }: TermRowProps) {
  const id = termId(term)
  const known = TERMS.find((each) => each.id === id)
  const options = TERMS.map(({ id: value, label }) => ({ value, label }))
  return (
    <Row gap={2} align="end">
      <Select
        label="Term"
        isLabelHidden
        value={id}
        options={known === undefined ? [{ value: id, label: id }, ...options] : options}
        onChange={(next) => {
          const { key, operator } = TERMS.find((each) => each.id === next) ?? term
          onChange({ ...term, key, operator })
        }}
      />
      <TextInput
        label="Value"
        isLabelHidden
        required
        value={term.value}
        placeholder={known?.example}
        onInput={(value) => onChange({ ...term, value })}
      />
      <IconButton icon={X} label="Remove the term" onClick={onRemove} />
    </Row>
  )
}
