import { Link } from 'wouter-preact'
import { useTitle } from '../lib/title.ts'

/** A path that leads nowhere. */
export function NotFound() {
  useTitle('No such page')
  return (
    <>
      <h1>There is no such page</h1>
      <p>
        <Link href="/">Back to the start</Link>
      </p>
    </>
  )
}

/** A tenant that does not exist, or that somebody else sees. */
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

/** A page that a member of a tenant may not see. */
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
