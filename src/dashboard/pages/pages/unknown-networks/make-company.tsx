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
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.unknownNetworks.make

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
        text: texts.made(asn, name.trim()),
        ...(rule !== undefined && { undo: async () => void (await change({ remove: rule })) }),
      })
      onClose()
    })
  return (
    <Dialog title={texts.title(asn)} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          save()
        }}
      >
        <Stack>
          <TextInput
            label={texts.name}
            required
            maxLength={NAME_MAX_CHARS}
            autocomplete="off"
            value={name}
            onInput={setName}
          />
          <TextInput
            label={texts.domain}
            hint={texts.aboutDomain}
            maxLength={DOMAIN_MAX_CHARS}
            placeholder="example.com"
            autocomplete="off"
            spellcheck={false}
            value={domain}
            onInput={setDomain}
          />
          <PastChoice value={past} onChange={setPast} />
          <Text tone="soft" isMeasured>
            {(past === 'none' ? texts.stay : texts.follow)(asn)}
          </Text>
          <FieldError error={saving.error} />
          <Row justify="right">
            <Button onClick={onClose}>{TEXTS.words.buttons.cancel}</Button>
            <Button type="submit" variant="primary" disabled={saving.isBusy || name.trim() === ''}>
              {texts.make}
            </Button>
          </Row>
        </Stack>
      </form>
    </Dialog>
  )
}
