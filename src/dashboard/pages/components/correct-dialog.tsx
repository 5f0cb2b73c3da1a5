import { useState } from 'preact/hooks'
import {
  CORRECTION_LIMITS,
  type CompanyCorrection,
  type CorrectionsBody,
} from '../../../../schemas/dashboard/corrections.ts'
import { FACT_LIMITS, STATUSES } from '../../../../schemas/facts.ts'
import { Dialog } from '../design/dialog.tsx'
import { TextArea, TextInput } from '../design/field.tsx'
import { companyNames } from '../lib/company-names.ts'
import { correct } from '../lib/corrections.ts'
import { useAction } from '../lib/use-action.ts'
import { TEXTS } from '../texts/texts.ts'
import { ValueForm } from './value-form.tsx'

const texts = TEXTS.components.correctDialog

/** A correction that needs a value. `tags` sets those of one company; the other two change them of many. */
export type CorrectTask = 'rename' | 'note' | 'tags' | 'add tags' | 'remove tags' | 'owner' | 'status'

interface Form {
  readonly title: string
  readonly label: string
  readonly hint: string
  readonly maxLength: number
  /** Whether an empty value is allowed. */
  readonly canBeEmpty: boolean
  readonly suggestions?: readonly string[]
  readonly valueBefore?: (correction: CompanyCorrection | undefined, name: string) => string
  readonly wantedOf: (value: string, correction: CompanyCorrection | undefined) => Partial<CorrectionsBody>
  /** Reports the change. @param names "Acme", "Acme and 2 others" */
  readonly done: (names: string, count: number) => string
}

const tagsOf = (text: string) => [...new Set(text.split(',').map((tag) => tag.trim()))].filter((tag) => tag !== '')
const TAGS = {
  ...{ label: TEXTS.words.fields.tags, hint: texts.commas, done: texts.done.tags },
  maxLength: CORRECTION_LIMITS.tags * (CORRECTION_LIMITS.tagMaxChars + 2),
}

const FORMS: Readonly<Record<CorrectTask, Form>> = {
  rename: {
    ...{ title: texts.rename, label: texts.name, hint: texts.emptyIsFound, done: texts.done.name },
    ...{ maxLength: CORRECTION_LIMITS.nameMaxChars, canBeEmpty: true },
    valueBefore: (_correction, name) => name,
    wantedOf: (name) => ({ name }),
  },
  note: {
    ...{ title: TEXTS.words.fields.note, label: TEXTS.words.fields.note, hint: texts.visible, done: texts.done.note },
    ...{ maxLength: CORRECTION_LIMITS.noteMaxChars, canBeEmpty: true },
    valueBefore: (correction) => correction?.note ?? '',
    wantedOf: (note) => ({ note }),
  },
  tags: {
    ...{ ...TAGS, title: TEXTS.words.fields.tags, canBeEmpty: true },
    valueBefore: (correction) => correction?.tags.join(', ') ?? '',
    wantedOf: (text, correction) => {
      const [wanted, now] = [tagsOf(text), correction?.tags ?? []]
      return {
        add_tags: wanted.filter((tag) => !now.includes(tag)),
        remove_tags: now.filter((tag) => !wanted.includes(tag)),
      }
    },
  },
  'add tags': {
    ...{ ...TAGS, title: texts.addTags, canBeEmpty: false },
    wantedOf: (text) => ({ add_tags: tagsOf(text) }),
  },
  'remove tags': {
    ...{ ...TAGS, title: texts.removeTags, done: texts.done.removedTags, canBeEmpty: false },
    wantedOf: (text) => ({ remove_tags: tagsOf(text) }),
  },
  owner: {
    ...{
      title: TEXTS.words.fields.owner,
      label: TEXTS.words.fields.owner,
      hint: texts.emptyIsNoOne,
      done: texts.done.owner,
    },
    ...{ maxLength: CORRECTION_LIMITS.ownerMaxChars, canBeEmpty: true },
    valueBefore: (correction) => correction?.owner ?? '',
    wantedOf: (owner) => ({ owner }),
  },
  status: {
    ...{ title: TEXTS.words.fields.status, label: TEXTS.words.fields.status, hint: texts.suggestion },
    ...{ done: texts.done.status, maxLength: FACT_LIMITS.statusMaxChars, canBeEmpty: true, suggestions: STATUSES },
    valueBefore: (correction) => correction?.status ?? '',
    wantedOf: (status) => ({ status }),
  },
}

interface CorrectDialogProps {
  readonly task: CorrectTask
  readonly tenant: string
  readonly companies: readonly { readonly company_id: string; readonly name: string }[]
  /** The company's corrections in force, if it is one company. */
  readonly correction?: CompanyCorrection | undefined
  readonly changed: () => void
  readonly onClose: () => void
}

/** Asks for the value of a correction in a dialog. */
export function CorrectDialog(props: CorrectDialogProps) {
  const { title } = FORMS[props.task]
  return (
    <Dialog
      title={props.companies.length === 1 ? title : texts.titleOf(title, nameOf(props.companies))}
      onClose={props.onClose}
    >
      <CorrectForm {...props} />
    </Dialog>
  )
}

const nameOf = (companies: CorrectDialogProps['companies']) =>
  companies.length === 1 ? companies[0]!.name : texts.companies(companies.length)

/**
 * Asks for the value of a correction, and makes it. The toast afterwards undoes it.
 * @param isInPlace in place of the value, which has a label already
 */
export function CorrectForm(props: CorrectDialogProps & { readonly isInPlace?: boolean }) {
  const { task, tenant, companies, correction, changed, onClose, isInPlace } = props
  const form = FORMS[task]
  const [only] = companies
  const [value, setValue] = useState(companies.length === 1 ? (form.valueBefore?.(correction, only!.name) ?? '') : '')
  const saving = useAction()
  const save = () =>
    saving.run(async () => {
      const ids = companies.map(({ company_id }) => company_id)
      const body = { companies: ids, ...form.wantedOf(value.trim(), correction) }
      const isCleared = value.trim() === ''
      await correct(
        tenant,
        body,
        (isCleared ? texts.done.cleared : form.done)(companyNames(companies), companies.length),
        changed,
      )
      onClose()
    })
  const field = {
    ...{ label: form.label, hint: form.hint, maxLength: form.maxLength, value, onInput: setValue },
    ...(isInPlace && { isLabelHidden: true, isSmall: true }),
  }
  return (
    <ValueForm saving={saving} isInPlace={isInPlace} onSave={save} onCancel={onClose}>
      {task === 'note' ? (
        <TextArea {...field} rows={5} />
      ) : (
        <TextInput
          {...field}
          required={!form.canBeEmpty}
          autocomplete="off"
          {...(form.suggestions && { suggestions: form.suggestions })}
        />
      )}
    </ValueForm>
  )
}
