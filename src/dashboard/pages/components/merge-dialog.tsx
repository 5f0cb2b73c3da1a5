import { useState } from 'preact/hooks'
import type { CompaniesPage } from '../../../../schemas/dashboard/companies.ts'
import type { CompanyCorrection } from '../../../../schemas/dashboard/corrections.ts'
import { Button } from '../design/button.tsx'
import { Dialog } from '../design/dialog.tsx'
import { FieldError, Fieldset, TextInput } from '../design/field.tsx'
import { Row, Stack, Text } from '../design/layout.tsx'
import { Choice } from '../design/popover.tsx'
import { companyNames } from '../lib/company-names.ts'
import { SEARCH_CHARS_MAX } from '../lib/company-view.ts'
import { correct } from '../lib/corrections.ts'
import { useAction } from '../lib/use-action.ts'
import { useData } from '../lib/use-data.ts'
import { useRested } from '../lib/use-rested.ts'
import { TEXTS } from '../texts/texts.ts'

const texts = TEXTS.components.mergeDialog

interface Named {
  readonly company_id: string
  readonly name: string
}

interface MergeDialogProps {
  readonly tenant: string
  /** One company, or several of which one may be the target. */
  readonly companies: readonly Named[]
  /** The company's corrections in force, if it is one company. */
  readonly correction?: CompanyCorrection | undefined
  readonly changed: () => void
  readonly onClose: () => void
}

const SHOWN = 8
const TYPED_MS = 200
/** Chosen companies that are offered as targets. */
const CHOSEN_SHOWN = 20

/** Asks for the company that the others are merged into: one of them, or one that a search finds. */
export function MergeDialog({ tenant, companies, correction, changed, onClose }: MergeDialogProps) {
  const [typed, setTyped] = useState('')
  const search = useRested(typed.trim(), '', TYPED_MS)
  const [target, setTarget] = useState<Named>()
  const saving = useAction()
  const [only] = companies
  const isOne = companies.length === 1
  const ids = new Set(companies.map(({ company_id }) => company_id))
  const path = `/api/tenants/${tenant}/companies`
  // A company is not merged into itself, and the list has none that is merged already.
  const { value, error } = useData<CompaniesPage>(search === '' ? undefined : path, {
    search,
    limit: SHOWN + CHOSEN_SHOWN,
  })
  const found = (search === '' ? [] : (value?.rows ?? []))
    .filter(({ company_id }) => !ids.has(company_id))
    .slice(0, SHOWN)
  const offered = isOne ? [] : companies.slice(0, CHOSEN_SHOWN)
  const merge = (into: Named | undefined) =>
    saving.run(async () => {
      const moved = companies.filter(({ company_id }) => company_id !== into?.company_id)
      const done =
        into === undefined ? texts.separate(only!.name) : texts.merged(companyNames(moved), moved.length, into.name)
      const body = { companies: moved.map(({ company_id }) => company_id), merged_into: into?.company_id ?? '' }
      await correct(tenant, body, done, changed)
      onClose()
    })
  const choice = (company: Named) => (
    <Choice
      key={company.company_id}
      label={company.name === company.company_id ? company.name : `${company.name} (${company.company_id})`}
      isChosen={target?.company_id === company.company_id}
      onChoose={() => setTarget(company)}
    />
  )
  return (
    <Dialog title={isOne ? texts.mergeInto(only!.name) : texts.mergeAll(companies.length)} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (target !== undefined) merge(target)
        }}
      >
        <Stack>
          {offered.length > 0 && <Fieldset legend={texts.oneOfThem}>{offered.map(choice)}</Fieldset>}
          <TextInput
            type="search"
            label={isOne ? texts.company : texts.another}
            placeholder={TEXTS.words.fields.nameDomainOrId}
            autocomplete="off"
            maxLength={SEARCH_CHARS_MAX}
            value={typed}
            onInput={setTyped}
          />
          {found.length > 0 && <Fieldset legend={texts.found}>{found.map(choice)}</Fieldset>}
          {search !== '' && value !== undefined && found.length === 0 && <Text tone="soft">{texts.noOther}</Text>}
          <Text tone="soft" isMeasured>
            {texts.events(target?.name)}
          </Text>
          <FieldError error={saving.error ?? error?.message} />
          <Row justify="right">
            {isOne && correction !== undefined && correction.merged_into !== '' && (
              <Button disabled={saving.isBusy} onClick={() => merge(undefined)}>
                {texts.makeSeparate}
              </Button>
            )}
            <Button onClick={onClose}>{TEXTS.words.buttons.cancel}</Button>
            <Button type="submit" variant="primary" disabled={saving.isBusy || target === undefined}>
              {texts.merge}
            </Button>
          </Row>
        </Stack>
      </form>
    </Dialog>
  )
}
