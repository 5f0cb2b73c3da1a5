import { CodeLine } from '../components/code-line.tsx'

/** For whoever is not signed in. */
export function SignIn() {
  const hasFailed = new URLSearchParams(location.search).get('sign-in') === 'failed'
  return (
    <main class="sign-in">
      <h1>ipid</h1>
      {hasFailed && (
        <p class="note problem" role="alert">
          This link was used already, or is too old.
        </p>
      )}
      <p>Sign in with a link: on the machine where ipid runs, this prints one that works once, within 10 minutes.</p>
      <CodeLine text="./ipid dashboard" label="Command for a sign-in link" />
    </main>
  )
}
