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
import { counted } from '../../lib/format.ts'
import { type PastChoice as Choice, pastJobStarted, pastOf } from '../../lib/past-jobs.ts'
import { useAction } from '../../lib/use-action.ts'
import { DryRun } from '../settings/dry-run.tsx'

type Wrong = 'provider' | 'other' | 'us'

const CHOICES = [
  { value: 'provider', label: 'It is an access provider: its customers are not companies' },
  { value: 'other', label: 'The network is another company’s' },
  { value: 'us', label: 'It is us: our own visits' },
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
      if (job === null) toast({ text: `${counted(add.length, 'rule')} made. Settings > Rules lists all of them.` })
      else pastJobStarted(job)
      changed()
      onClose()
    })
  return (
    <Dialog title={`It is not ${company.name}`} isWide onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          save()
        }}
      >
        <Stack>
          <Select label="What is wrong?" value={wrong} options={CHOICES} onChange={(next) => setWrong(next as Wrong)} />
          {wrong === 'provider' && (
            <Checkbox label={`All networks of ${company.name}`} isChecked={isWhole} onChange={setWhole} />
          )}
          {asksNetworks && known.length > 0 && (
            <Fieldset legend="Networks of its visits">
              {known.map(({ value, events }) => (
                <Checkbox
                  key={value}
                  label={`${value}: ${counted(events, 'event')}`}
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
              label={known.length > 0 ? 'Another network' : 'Network'}
              placeholder="203.0.113.0/24"
              autocomplete="off"
              value={typed}
              onInput={setTyped}
            />
          )}
          {wrong === 'other' && (
            <TextInput
              label="Domain of the right company"
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
            {wrong === 'other' ? 'New visits change at once.' : 'New visits are no longer stored.'}{' '}
            {span === undefined
              ? 'Stored ones stay as they are. The settings can apply the rule to them later.'
              : wrong === 'other'
                ? 'Stored ones follow in the background; this page shows the progress.'
                : 'Stored ones are hidden, not deleted: they are shown again when the rule is removed in the settings.'}
          </Text>
          <FieldError error={saving.error} />
          <Row justify="right">
            <Button onClick={onClose}>Cancel</Button>
            <Button type="submit" variant="primary" disabled={saving.isBusy || !isReady}>
              {span === undefined
                ? 'Make the rule'
                : wrong === 'other'
                  ? 'Make the rule and apply it'
                  : 'Make the rule and hide visits'}
            </Button>
          </Row>
        </Stack>
      </form>
    </Dialog>
  )
}
