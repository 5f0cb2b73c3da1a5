import { useEffect } from 'preact/hooks'
import { CodeLine } from '../design/code.tsx'
import { Text } from '../design/layout.tsx'
import { Notice } from '../design/notice.tsx'
import { Splash } from '../design/splash.tsx'
import { keepReturnPath } from '../lib/use-return.ts'
import { Logo } from '../shell/logo.tsx'

/** Shown without a session. */
export function SignIn() {
  const hasFailed = new URLSearchParams(location.search).get('sign-in') === 'failed'
  useEffect(keepReturnPath, [])
  return (
    <Splash
      title={
        <>
          <Logo size={26} />
          ipid
        </>
      }
    >
      {hasFailed && (
        <Notice tone="bad" role="alert">
          <p>This link has been used already, or has expired.</p>
        </Notice>
      )}
      {location.pathname !== '/' && <Text>Sign in to see this page. It opens right after that.</Text>}
      <Text tone="soft">
        With an invitation, open its link in this browser. Without one, ask the person who invited you for a new link.
      </Text>
      <Text tone="soft">
        Operators run this on the machine where ipid runs. It prints a link that works once, for 10 minutes.
      </Text>
      <CodeLine text="./ipid dashboard" label="Command for a sign-in link" />
    </Splash>
  )
}
