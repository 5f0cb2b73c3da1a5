import { Mail, Pencil } from 'lucide-preact'
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import type { FirstSteps } from '../../../../../schemas/dashboard/first-steps.ts'
import type { SourceSetup } from '../../../../../schemas/dashboard/sources.ts'
import { Button, LinkButton } from '../../design/button.tsx'
import { CodeBlock, CodeLine } from '../../design/code.tsx'
import { FieldError, TextInput } from '../../design/field.tsx'
import { Row, Stack, Text } from '../../design/layout.tsx'
import { Notice } from '../../design/notice.tsx'
import { Segmented } from '../../design/tabs.tsx'
import { post } from '../../lib/api.ts'
import { useAction } from '../../lib/use-action.ts'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.firstSteps.connect

interface ConnectProps {
  readonly tenant: string
  readonly answer: FirstSteps
  readonly onChanged: () => void
}

type Block = SourceSetup['blocks'][number]

const SITES = [
  { value: 'html', label: texts.anySite },
  { value: 'tag-manager', label: 'GTM' },
  { value: 'wordpress', label: 'WordPress' },
  { value: 'shopify', label: 'Shopify' },
  { value: 'next.js', label: 'Next.js' },
] as const

/** The address of ipid, then the line of code that goes into the website. */
export function Connect({ tenant, answer, onChanged }: ConnectProps) {
  const [isChanging, setChanging] = useState(false)
  const { website } = answer
  if (website === null || isChanging) {
    return (
      <AddressForm
        tenant={tenant}
        base={website?.setup.base ?? answer.api_url ?? ''}
        onCancel={website === null ? undefined : () => setChanging(false)}
        onConnected={() => {
          setChanging(false)
          onChanged()
        }}
      />
    )
  }
  return <Script tenant={tenant} setup={website.setup} onChange={() => setChanging(true)} />
}

interface AddressFormProps {
  readonly tenant: string
  readonly base: string
  readonly onConnected: () => void
  /** Undefined: there is no address yet. */
  readonly onCancel: (() => void) | undefined
}

function AddressForm({ tenant, base, onConnected, onCancel }: AddressFormProps) {
  const [text, setText] = useState(base)
  const { isBusy, error, run } = useAction()
  const connect = () =>
    run(async () => {
      await post(`/api/tenants/${tenant}/first-steps/connect`, { base: text.trim() })
      onConnected()
    })
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        connect()
      }}
    >
      <Stack gap={3}>
        <TextInput
          type="url"
          label={texts.address}
          hint={texts.aboutAddress}
          required
          maxLength={300}
          placeholder="https://ipid.example.com"
          value={text}
          onInput={setText}
        />
        <FieldError error={error} />
        <Row gap={2}>
          <Button type="submit" variant="primary" disabled={isBusy}>
            {texts.showLine}
          </Button>
          {onCancel && <Button onClick={onCancel}>{TEXTS.words.buttons.cancel}</Button>}
        </Row>
        <Text tone="soft" isSmall>
          {texts.noWebsite(
            (text) => (
              <Link href={`/t/${tenant}/sources`}>{text}</Link>
            ),
            (text) => (
              <Link href={`/t/${tenant}/uploads`}>{text}</Link>
            ),
            (text) => (
              <Link href={`/t/${tenant}/settings/keys`}>{text}</Link>
            ),
          )}
        </Text>
      </Stack>
    </form>
  )
}

interface ScriptProps {
  readonly tenant: string
  readonly setup: SourceSetup
  readonly onChange: () => void
}

function Script({ tenant, setup, onChange }: ScriptProps) {
  const [site, setSite] = useState<string>('html')
  const block = setup.blocks.find((found) => found.site === site)
  return (
    <Stack gap={3}>
      <Row>
        <Segmented label={texts.howMade} value={site} options={SITES} onChange={setSite} />
      </Row>
      {block !== undefined && (
        <>
          <Text>{block.title}:</Text>
          {block.code.includes('\n') ? (
            <CodeBlock text={block.code} label={block.title} isWrapped />
          ) : (
            <CodeLine text={block.code} label={block.title} />
          )}
          {block.about !== null && (
            <Text tone="soft" isSmall isMeasured>
              {block.about}
            </Text>
          )}
        </>
      )}
      {setup.warning !== null && (
        <Notice tone="warn">
          <p>{setup.warning}</p>
        </Notice>
      )}
      <Row gap={2}>
        {block !== undefined && (
          <LinkButton size="s" icon={Mail} href={mailTo(block, setup)}>
            {texts.send}
          </LinkButton>
        )}
        <Button size="s" variant="quiet" icon={Pencil} onClick={onChange}>
          {texts.change}
        </Button>
        <LinkButton size="s" variant="quiet" href={`/t/${tenant}/sources`}>
          {texts.more}
        </LinkButton>
      </Row>
    </Stack>
  )
}

/** A mail with the exact lines. */
function mailTo({ title, code, about, site }: Block, { blocks, base }: SourceSetup): string {
  const policy = blocks.find((block) => block.title.includes('Content-Security-Policy'))
  const lines = [
    texts.mail.hello,
    '',
    texts.mail.please(title),
    ...['', code, ''],
    ...(about === null ? [] : [about, '']),
    ...(policy === undefined || site === 'shopify' ? [] : [texts.mail.policy, '', policy.code, '']),
    texts.mail.thanks(base),
  ]
  const subject = texts.mail.subject
  return `mailto:?subject=${encodeURIComponent(subject)}&body=${encodeURIComponent(lines.join('\r\n'))}`
}
