import './sign-in.css'
import { useEffect, useState } from 'preact/hooks'
import type { OidcStart, SignInWays } from '../../../../schemas/dashboard/session.ts'
import { Avatar } from '../design/avatar.tsx'
import { Badge } from '../design/badge.tsx'
import { Button } from '../design/button.tsx'
import { CodeLine } from '../design/code.tsx'
import { Disclosure } from '../design/details.tsx'
import { FieldError, TextInput } from '../design/field.tsx'
import { Row, Stack, Text } from '../design/layout.tsx'
import { Notice } from '../design/notice.tsx'
import { post } from '../lib/api.ts'
import { useAction } from '../lib/use-action.ts'
import { useData } from '../lib/use-data.ts'
import { keepReturnPath } from '../lib/use-return.ts'
import { Logo } from '../shell/logo.tsx'

/** Shown without a session: what ipid is, and the ways to sign in. */
export function SignIn() {
  const hasFailed = new URLSearchParams(location.search).get('sign-in') === 'failed'
  const ways = useData<SignInWays>('/sign-in/ways')
  const hasOnlyLinks = ways.value?.can_email === false && ways.value.provider === null
  useEffect(keepReturnPath, [])
  return (
    <main class="ui-sign-in">
      <section class="ui-sign-in-form">
        <p class="ui-sign-in-brand">
          <Logo size={26} />
          ipid
        </p>
        <Stack gap={5}>
          <h1>See which companies visit your website</h1>
          {hasFailed && (
            <Notice tone="bad" role="alert">
              <p>This link has been used already, or has expired.</p>
            </Notice>
          )}
          {location.pathname !== '/' && <Text>Sign in to see this page. It opens right after that.</Text>}
          {ways.value?.provider && <ProviderButton name={ways.value.provider} />}
          {ways.value?.can_email && <MailForm isSecond={ways.value.provider !== null} />}
          <Text tone="soft">
            {ways.value?.can_email || ways.value?.provider
              ? 'With an invitation, open its link in this browser.'
              : 'With an invitation, open its link in this browser. Without one, ask the person who invited you for a new link.'}
          </Text>
          <Disclosure summary="I run ipid" isOpen={hasOnlyLinks || undefined}>
            <Stack gap={2}>
              <Text tone="soft" isSmall>
                Run this on the machine where ipid runs. It prints a link that works once, for 10 minutes.
              </Text>
              <CodeLine text="./ipid dashboard" label="Command for a sign-in link" />
            </Stack>
          </Disclosure>
        </Stack>
      </section>
      <Picture />
    </main>
  )
}

function ProviderButton({ name }: { name: string }) {
  const { isBusy, error, run } = useAction()
  const go = () =>
    run(async () => {
      const { url } = await post<OidcStart>('/sign-in/oidc')
      location.assign(url)
    })
  return (
    <Stack gap={2}>
      <Row>
        <Button variant="primary" disabled={isBusy} onClick={go}>
          Sign in with {name}
        </Button>
      </Row>
      <FieldError error={error} />
    </Stack>
  )
}

function MailForm({ isSecond }: { isSecond: boolean }) {
  const [email, setEmail] = useState('')
  const [sentTo, setSentTo] = useState<string>()
  const { isBusy, error, run } = useAction()
  const ask = () =>
    run(async () => {
      await post('/sign-in/mail', { email })
      setSentTo(email.trim())
    })
  if (sentTo !== undefined) {
    return (
      <Notice tone="good" role="status">
        <p>
          If {sentTo} belongs to somebody here, a link is on its way. It works once, for 15 minutes. Look into the spam
          folder too.
        </p>
        <Button size="s" onClick={() => setSentTo(undefined)}>
          Use another address
        </Button>
      </Notice>
    )
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        ask()
      }}
    >
      <Stack gap={3}>
        <TextInput
          type="email"
          label="Your e-mail address"
          required
          maxLength={254}
          autocomplete="email"
          value={email}
          onInput={setEmail}
        />
        <FieldError error={error} />
        <Row>
          <Button type="submit" variant={isSecond ? 'default' : 'primary'} disabled={isBusy}>
            Mail me a link
          </Button>
        </Row>
      </Stack>
    </form>
  )
}

/** Not of any customer. */
const EXAMPLES = [
  { name: 'Example Industries', why: 'read Pricing twice, and the customers page', visits: '14 visits', badge: 'hot' },
  { name: 'Sample Logistics', why: 'came back after 5 weeks', visits: '6 visits', badge: undefined },
  { name: 'Placeholder Bank', why: 'first seen today, from a search', visits: '2 visits', badge: 'new' },
] as const

/** What the product shows, made of its own parts. */
function Picture() {
  return (
    <aside class="ui-sign-in-picture" aria-label="What ipid shows">
      <div class="ui-sign-in-card">
        <h2>Companies on your website</h2>
        <ul>
          {EXAMPLES.map(({ name, why, visits, badge }) => (
            <li key={name}>
              <Avatar name={name} id={name} size={32} />
              <div>
                <p class="ui-sign-in-name">
                  {name}
                  {badge && <Badge tone="warm">{badge}</Badge>}
                </p>
                <Text tone="soft" isSmall>
                  {why}
                </Text>
              </div>
              <span>{visits}</span>
            </li>
          ))}
        </ul>
        <Text tone="soft" isSmall>
          An example: these companies do not exist.
        </Text>
      </div>
      <ul class="ui-sign-in-facts">
        <li>No cookies, and no names of visitors: ipid recognises the organisation behind an address.</li>
        <li>Your own office, bots, access providers and clouds are left out.</li>
        <li>It runs where you run it: the data stay with you.</li>
      </ul>
    </aside>
  )
}
