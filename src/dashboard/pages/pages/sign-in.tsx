import { CodeLine } from '../design/code.tsx'
import { Text } from '../design/layout.tsx'
import { Notice } from '../design/notice.tsx'
import { Splash } from '../design/splash.tsx'
import { Logo } from '../shell/logo.tsx'

/** Shown without a session. */
export function SignIn() {
  const hasFailed = new URLSearchParams(location.search).get('sign-in') === 'failed'
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
      <Text tone="soft">
        To sign in, run this on the machine where ipid runs. It prints a link that works once, for 10 minutes.
      </Text>
      <CodeLine text="./ipid dashboard" label="Command for a sign-in link" />
    </Splash>
  )
}
