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

interface ConnectProps {
  readonly tenant: string
  readonly answer: FirstSteps
  readonly onChanged: () => void
}

type Block = SourceSetup['blocks'][number]

const SITES = [
  { value: 'html', label: 'Any site' },
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
          label="Address at which your visitors’ browsers reach ipid"
          hint="It begins with https://. The person who runs ipid knows it. It is often not the address of this page."
          required
          maxLength={300}
          placeholder="https://ipid.example.com"
          value={text}
          onInput={setText}
        />
        <FieldError error={error} />
        <Row gap={2}>
          <Button type="submit" variant="primary" disabled={isBusy}>
            Show my line of code
          </Button>
          {onCancel && <Button onClick={onCancel}>Cancel</Button>}
        </Row>
        <Text tone="soft" isSmall>
          No website? <Link href={`/t/${tenant}/sources`}>Connect another source</Link>,{' '}
          <Link href={`/t/${tenant}/uploads`}>upload a file</Link>, or{' '}
          <Link href={`/t/${tenant}/settings/keys`}>make a key for the API</Link>.
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
        <Segmented label="How your website is made" value={site} options={SITES} onChange={setSite} />
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
            Send to my developer
          </LinkButton>
        )}
        <Button size="s" variant="quiet" icon={Pencil} onClick={onChange}>
          Change the address
        </Button>
        <LinkButton size="s" variant="quiet" href={`/t/${tenant}/sources`}>
          More ways
        </LinkButton>
      </Row>
    </Stack>
  )
}

/** A mail with the exact lines. */
function mailTo({ title, code, about, site }: Block, { blocks, base }: SourceSetup): string {
  const policy = blocks.find((block) => block.title.includes('Content-Security-Policy'))
  const lines = [
    'Hello,',
    '',
    `please add this to our website, so that ipid sees which companies visit it. ${title}:`,
    ...['', code, ''],
    ...(about === null ? [] : [about, '']),
    ...(policy === undefined || site === 'shopify'
      ? []
      : ['If the site has a Content-Security-Policy, it also needs:', '', policy.code, '']),
    `It loads one script from ${base}, and sets no cookies. Thank you!`,
  ]
  const subject = 'A line of code for our website'
  return `mailto:?subject=${encodeURIComponent(subject)}&body=${encodeURIComponent(lines.join('\r\n'))}`
}
