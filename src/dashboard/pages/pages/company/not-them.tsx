import { useState } from 'preact/hooks'
import type { CompanyAnswer } from '../../../../../schemas/dashboard/company.ts'
import type { RulesBody } from '../../../../../schemas/dashboard/rules.ts'
import { Button } from '../../design/button.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { FieldError, Select, TextInput } from '../../design/field.tsx'
import { Row, Stack, Text } from '../../design/layout.tsx'
import { post } from '../../lib/api.ts'
import { correct } from '../../lib/corrections.ts'
import { useAction } from '../../lib/use-action.ts'
import { DryRun } from '../settings/dry-run.tsx'

type Wrong = 'provider' | 'other' | 'us'

const CHOICES = [
  { value: 'provider', label: 'It is an access provider: its customers are not companies' },
  { value: 'other', label: 'The network is another company’s' },
  { value: 'us', label: 'It is us: our own visits' },
]

interface NotThemProps {
  readonly tenant: string
  readonly answer: CompanyAnswer
  readonly changed: () => void
  readonly onClose: () => void
}

/** Asks what is wrong, and makes the rule that says so. What it would have changed is shown before. */
export function NotThem({ tenant, answer: { company, networks }, changed, onClose }: NotThemProps) {
  const [wrong, setWrong] = useState<Wrong>('provider')
  const [network, setNetwork] = useState(networks.find(({ value }) => value !== '')?.value ?? '')
  const [domain, setDomain] = useState('')
  const saving = useAction()
  const path = `/api/tenants/${tenant}/rules`
  const add: NonNullable<RulesBody['add']> =
    wrong === 'provider'
      ? { kind: 'always-noise', subject: company.domain || company.company_id }
      : wrong === 'us'
        ? { kind: 'own', subject: network.trim() }
        : { kind: 'is', subject: `${network.trim()} ${domain.trim()}` }
  const isReady = wrong === 'provider' || (network.trim() !== '' && (wrong === 'us' || domain.trim() !== ''))
  const save = () =>
    saving.run(async () => {
      await post(path, { add })
      // A network of another company may not be all of this one, so only the other two hide it.
      if (wrong === 'other') changed()
      else {
        const body = { companies: [company.company_id], hidden: true }
        await correct(tenant, body, `The rule holds, and ${company.name} is hidden.`, changed)
      }
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
          {wrong !== 'provider' && (
            <TextInput label="Network" required placeholder="203.0.113.0/24" value={network} onInput={setNetwork} />
          )}
          {wrong === 'other' && (
            <TextInput
              label="Domain of the company that it is"
              required
              placeholder="example.com"
              value={domain}
              onInput={setDomain}
            />
          )}
          <Text tone="soft" isMeasured>
            {wrong === 'other'
              ? 'New visits from this network belong to that company at once. Stored ones follow when an operator judges them again.'
              : `New visits are filtered at once, and ${company.name} is hidden with its past. Both can be taken back.`}
          </Text>
          <DryRun key={JSON.stringify(add)} path={path} body={{ add }} isEnabled={isReady} />
          <FieldError error={saving.error} />
          <Row justify="right">
            <Button onClick={onClose}>Cancel</Button>
            <Button type="submit" variant="primary" disabled={saving.isBusy || !isReady}>
              Make the rule
            </Button>
          </Row>
        </Stack>
      </form>
    </Dialog>
  )
}
