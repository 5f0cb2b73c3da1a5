import { useState } from 'preact/hooks'
import type { CompanyAnswer } from '../../../../../schemas/dashboard/company.ts'
import { RULES_ADDED_MAX, type RulesAnswer, type RulesBody } from '../../../../../schemas/dashboard/rules.ts'
import { PastChoice } from '../../components/past-choice.tsx'
import { Button } from '../../design/button.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { Checkbox, FieldError, Fieldset, Select, TextInput } from '../../design/field.tsx'
import { Row, Stack, Text } from '../../design/layout.tsx'
import { toast } from '../../design/toast.tsx'
import { post } from '../../lib/api.ts'
import { type PastChoice as Choice, pastJobStarted, pastOf } from '../../lib/past-jobs.ts'
import { useAction } from '../../lib/use-action.ts'
import { TEXTS } from '../../texts/texts.ts'
import { DryRun } from '../settings/dry-run.tsx'

const texts = TEXTS.company.notThem

type Wrong = 'provider' | 'other' | 'us'

const CHOICES = [
  { value: 'provider', label: texts.choices.provider },
  { value: 'other', label: texts.choices.other },
  { value: 'us', label: texts.choices.us },
]

const KINDS = { provider: 'always-noise', other: 'is', us: 'own' } as const

interface NotThemProps {
  readonly tenant: string
  readonly answer: CompanyAnswer
  readonly changed: () => void
  readonly onClose: () => void
}

/** Asks for the fault, shows what a rule changes, makes it, and applies it to stored visits. */
export function NotThem({ tenant, answer: { company, networks }, changed, onClose }: NotThemProps) {
  const known = networks.filter(({ value }) => value !== '').slice(0, RULES_ADDED_MAX)
  const [wrong, setWrong] = useState<Wrong>('provider')
  const [isWhole, setWhole] = useState(true)
  const [chosen, setChosen] = useState<readonly string[]>(known.map(({ value }) => value))
  const [typed, setTyped] = useState('')
  const [domain, setDomain] = useState('')
  const [past, setPast] = useState<Choice>('all')
  const saving = useAction()
  const path = `/api/tenants/${tenant}/rules`
  const asksNetworks = wrong !== 'provider' || !isWhole
  const subjects = asksNetworks
    ? [...chosen, ...(typed.trim() === '' ? [] : [typed.trim()])].slice(0, RULES_ADDED_MAX)
    : [company.domain || company.company_id]
  const suffix = wrong === 'other' ? ` ${domain.trim()}` : ''
  const add: NonNullable<RulesBody['add']> = subjects.map((subject) => ({
    kind: KINDS[wrong],
    subject: `${subject}${suffix}`,
  }))
  const isReady = add.length > 0 && (wrong !== 'other' || domain.trim() !== '')
  const span = pastOf(past)
  const save = () =>
    saving.run(async () => {
      const { job } = await post<RulesAnswer>(path, { add, ...(span && { past: span }) })
      if (job === null) toast({ text: texts.made(add.length) })
      else pastJobStarted(job)
      changed()
      onClose()
    })
  return (
    <Dialog title={texts.title(company.name)} isWide onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          save()
        }}
      >
        <Stack>
          <Select label={texts.wrong} value={wrong} options={CHOICES} onChange={(next) => setWrong(next as Wrong)} />
          {wrong === 'provider' && (
            <Checkbox label={texts.allNetworks(company.name)} isChecked={isWhole} onChange={setWhole} />
          )}
          {asksNetworks && known.length > 0 && (
            <Fieldset legend={texts.networks}>
              {known.map(({ value, events }) => (
                <Checkbox
                  key={value}
                  label={texts.network(value, events)}
                  isChecked={chosen.includes(value)}
                  onChange={(isChosen) =>
                    setChosen(isChosen ? [...chosen, value] : chosen.filter((each) => each !== value))
                  }
                />
              ))}
            </Fieldset>
          )}
          {asksNetworks && (
            <TextInput
              label={known.length > 0 ? texts.anotherNetwork : texts.aNetwork}
              placeholder="203.0.113.0/24"
              autocomplete="off"
              value={typed}
              onInput={setTyped}
            />
          )}
          {wrong === 'other' && (
            <TextInput
              label={texts.domain}
              required
              placeholder="example.com"
              autocomplete="off"
              value={domain}
              onInput={setDomain}
            />
          )}
          <PastChoice value={past} onChange={setPast} />
          <DryRun
            key={JSON.stringify([add, past])}
            path={path}
            body={{ add, past: span ?? { days: 90 } }}
            isEnabled={isReady}
            isAutomatic
          />
          <Text tone="soft" isMeasured>
            {wrong === 'other' ? texts.newChange : texts.newLeftOut}{' '}
            {span === undefined ? texts.storedStay : wrong === 'other' ? texts.storedFollow : texts.storedHidden}
          </Text>
          <FieldError error={saving.error} />
          <Row justify="right">
            <Button onClick={onClose}>{TEXTS.words.buttons.cancel}</Button>
            <Button type="submit" variant="primary" disabled={saving.isBusy || !isReady}>
              {span === undefined ? texts.makeRule : wrong === 'other' ? texts.makeAndApply : texts.makeAndHide}
            </Button>
          </Row>
        </Stack>
      </form>
    </Dialog>
  )
}
