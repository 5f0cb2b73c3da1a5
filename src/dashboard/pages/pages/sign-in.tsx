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
import { TEXTS } from '../texts/texts.ts'

const texts = TEXTS.signIn.page

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
          <h1>{texts.title}</h1>
          {hasFailed && (
            <Notice tone="bad" role="alert">
              <p>{texts.used}</p>
            </Notice>
          )}
          {location.pathname !== '/' && <Text>{texts.signIn}</Text>}
          {ways.value?.provider && <ProviderButton name={ways.value.provider} />}
          {ways.value?.can_email && <MailForm isSecond={ways.value.provider !== null} />}
          <Text tone="soft">{ways.value?.can_email || ways.value?.provider ? texts.openLink : texts.askForLink}</Text>
          <Disclosure summary={texts.operator} isOpen={hasOnlyLinks || undefined}>
            <Stack gap={2}>
              <Text tone="soft" isSmall>
                {texts.runThis}
              </Text>
              <CodeLine text="./ipid dashboard" label={texts.command} />
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
          {texts.signInWith(name)}
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
        <p>{texts.onItsWay(sentTo)}</p>
        <Button size="s" onClick={() => setSentTo(undefined)}>
          {texts.another}
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
          label={texts.email}
          required
          maxLength={254}
          autocomplete="email"
          value={email}
          onInput={setEmail}
        />
        <FieldError error={error} />
        <Row>
          <Button type="submit" variant={isSecond ? 'default' : 'primary'} disabled={isBusy}>
            {texts.mailMe}
          </Button>
        </Row>
      </Stack>
    </form>
  )
}

/** Not of any customer. */
const EXAMPLES = [
  {
    name: texts.examples.industries,
    why: texts.examples.readPricing,
    visits: texts.examples.visits(14),
    badge: texts.examples.hot,
  },
  { name: texts.examples.logistics, why: texts.examples.cameBack, visits: texts.examples.visits(6), badge: undefined },
  {
    name: texts.examples.bank,
    why: texts.examples.firstSeen,
    visits: texts.examples.visits(2),
    badge: texts.examples.new,
  },
] as const

/** What the product shows, made of its own parts. */
function Picture() {
  return (
    <aside class="ui-sign-in-picture" aria-label={texts.shows}>
      <div class="ui-sign-in-card">
        <h2>{texts.onYourSite}</h2>
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
          {texts.example}
        </Text>
      </div>
      <ul class="ui-sign-in-facts">
        <li>{texts.facts.noCookies}</li>
        <li>{texts.facts.leftOut}</li>
        <li>{texts.facts.yours}</li>
      </ul>
    </aside>
  )
}
