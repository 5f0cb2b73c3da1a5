import { useState } from 'preact/hooks'
import type { RulesAnswer, RulesBody } from '../../../../../schemas/dashboard/rules.ts'
import type { UnknownNetwork } from '../../../../../schemas/unknown-networks.ts'
import { PastChoice } from '../../components/past-choice.tsx'
import { Button } from '../../design/button.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { FieldError, TextInput } from '../../design/field.tsx'
import { Row, Stack, Text } from '../../design/layout.tsx'
import { toast } from '../../design/toast.tsx'
import { post } from '../../lib/api.ts'
import { type PastChoice as Choice, pastJobStarted, pastOf } from '../../lib/past-jobs.ts'
import { useAction } from '../../lib/use-action.ts'

const NAME_MAX_CHARS = 200
const DOMAIN_MAX_CHARS = 253

interface MakeCompanyProps {
  readonly tenant: string
  readonly network: UnknownNetwork
  readonly changed: () => void
  readonly onClose: () => void
}

/** Asks for the name, and makes a rule `is` of the network. The toast afterwards removes the rule. */
export function MakeCompany({ tenant, network: { asn, as_name, name: proposed }, changed, onClose }: MakeCompanyProps) {
  const [name, setName] = useState(proposed || as_name)
  const [domain, setDomain] = useState('')
  const [past, setPast] = useState<Choice>('all')
  const saving = useAction()
  const change = async (body: RulesBody) => {
    const span = pastOf(past)
    const answer = await post<RulesAnswer>(`/api/tenants/${tenant}/rules`, { ...body, ...(span && { past: span }) })
    if (answer.job !== null) pastJobStarted(answer.job)
    changed()
    return answer
  }
  const save = () =>
    saving.run(async () => {
      const subject = `AS${asn} ${domain.trim() || '-'} ${name.trim()}`
      const { rules } = await change({ add: { kind: 'is', subject } })
      // The server has given it its canonical form.
      const rule = rules.findLast((each) => each.startsWith(`is AS${asn} `))
      toast({
        text: `AS${asn} is ${name.trim()} from now on. Settings lists the rule.`,
        ...(rule !== undefined && { undo: async () => void (await change({ remove: rule })) }),
      })
      onClose()
    })
  return (
    <Dialog title={`Make AS${asn} a company`} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          save()
        }}
      >
        <Stack>
          <TextInput
            label="Name"
            required
            maxLength={NAME_MAX_CHARS}
            autocomplete="off"
            value={name}
            onInput={setName}
          />
          <TextInput
            label="Domain"
            hint="Optional. With it, industry and other facts are those that your data have of this domain."
            maxLength={DOMAIN_MAX_CHARS}
            placeholder="example.com"
            autocomplete="off"
            spellcheck={false}
            value={domain}
            onInput={setDomain}
          />
          <PastChoice value={past} onChange={setPast} />
          <Text tone="soft" isMeasured>
            All visits from AS{asn} count for this company from now on.{' '}
            {past === 'none'
              ? 'Stored ones stay as they are. The settings can apply the rule to them later.'
              : 'Stored ones follow in the background; this page shows the progress.'}{' '}
            The rule is in the settings; remove it there to undo this.
          </Text>
          <FieldError error={saving.error} />
          <Row justify="right">
            <Button onClick={onClose}>Cancel</Button>
            <Button type="submit" variant="primary" disabled={saving.isBusy || name.trim() === ''}>
              Make it a company
            </Button>
          </Row>
        </Stack>
      </form>
    </Dialog>
  )
}
