import { Link } from 'wouter-preact'
import { useTitle } from '../lib/title.ts'

/** Shown for an unknown path. */
export function NotFound() {
  useTitle('Page not found')
  return (
    <>
      <h1>Page not found</h1>
      <p>
        <Link href="/">Back to the start</Link>
      </p>
    </>
  )
}

/** Shown when the tenant does not exist or the session may not see it. */
export function NoTenant({ id }: { readonly id: string }) {
  return (
    <>
      <h1>There is no tenant {id}</h1>
      <p>
        It was deleted, or this session may not see it. <Link href="/">Back to the start</Link>
      </p>
    </>
  )
}

/** Shown to members on pages for operators. */
export function OnlyOperators() {
  return (
    <>
      <h1>This page is for operators</h1>
      <p>
        You are signed in as a member of one tenant. An operator opens this page with the link of{' '}
        <code>./ipid dashboard</code>. <Link href="/">Back to the start</Link>
      </p>
    </>
  )
}
