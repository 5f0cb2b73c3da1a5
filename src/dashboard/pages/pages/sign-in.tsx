import { CodeLine } from '../components/code-line.tsx'

/** Shown without a session. */
export function SignIn() {
  const hasFailed = new URLSearchParams(location.search).get('sign-in') === 'failed'
  return (
    <main class="sign-in">
      <h1>ipid</h1>
      {hasFailed && (
        <p class="note problem" role="alert">
          This link has been used already, or has expired.
        </p>
      )}
      <p>To sign in, run this on the machine where ipid runs. It prints a link that works once, for 10 minutes.</p>
      <CodeLine text="./ipid dashboard" label="Command for a sign-in link" />
    </main>
  )
}
