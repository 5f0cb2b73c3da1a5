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
import { TEXTS } from '../texts/texts.ts'

const texts = TEXTS.components.conditionChip

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
      <Chip label={texts.also} summary={condition === '' ? undefined : condition} onClear={() => onChange('')}>
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
                {texts.edit}
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
    <Dialog title={texts.title} isWide onClose={onClose}>
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
            label={texts.condition}
            isMono
            rows={4}
            spellcheck={false}
            value={text}
            hint={texts.hint((term) => <code>{term}</code>)}
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
              {texts.asText}
            </Button>
          )}
          <Row gap={2}>
            <Button onClick={onClose}>{TEXTS.words.buttons.cancel}</Button>
            <Button type="submit" variant="primary" disabled={applying.isBusy}>
              {TEXTS.words.buttons.apply}
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
              label={i === 0 ? texts.have : texts.andHave}
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
              {texts.addTerm}
            </Button>
          </Row>
        </Stack>
      ))}
      {groups.length === 0 && <Text tone="soft">{texts.none}</Text>}
      <Row>
        <Button size="s" icon={Plus} onClick={() => onChange([...groups, ...EMPTY_GROUPS])}>
          {texts.addGroup}
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
        label={texts.term}
        isLabelHidden
        value={id}
        options={known === undefined ? [{ value: id, label: id }, ...options] : options}
        onChange={(next) => {
          const { key, operator } = TERMS.find((each) => each.id === next) ?? term
          onChange({ ...term, key, operator })
        }}
      />
      <TextInput
        label={texts.value}
        isLabelHidden
        required
        value={term.value}
        placeholder={known?.example}
        onInput={(value) => onChange({ ...term, value })}
      />
      <IconButton icon={X} label={texts.removeTerm} onClick={onRemove} />
    </Row>
  )
}
