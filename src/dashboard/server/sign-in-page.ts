import type { Grant } from './sessions.ts'

/** A question before a sign-in link is used. */
export interface SignInQuestion {
  /** Secret of the link; `isSecret` must have accepted it. */
  readonly token: string
  /** Undefined: the link was not looked up. */
  readonly replaced?: { readonly current: Grant; readonly next: Grant }
}

/**
 * A page without scripts that asks whether to sign in.
 * @param index HTML of the pages, for the head
 */
export function signInPage(index: string, { token, replaced }: SignInQuestion): string {
  const text =
    replaced === undefined
      ? '<p>You are about to sign in with a link. Continue only if you know who sent it.</p>'
      : `<p>This browser is signed in as ${named(replaced.current)}. The link signs it in as ${named(replaced.next)} instead. ` +
        'Continue only if you know who sent it.</p>'
  const replace = replaced === undefined ? '' : '<input type="hidden" name="replace" value="yes">'
  const stay = replaced === undefined ? '' : '<p><a href="/">Stay signed in as before</a></p>'
  const body = `<body><main class="ui-splash"><h1>ipid</h1>${text}
<form method="post" action="/sign-in"><input type="hidden" name="token" value="${token}">${replace}
<p><button type="submit" class="ui-button is-primary">Sign in</button></p></form>${stay}</main></body>`
  return index.replace(/<script[\s\S]*?<\/script>/g, '').replace(/<body>[\s\S]*<\/body>/, () => body)
}

function named({ tenant }: Grant): string {
  return tenant === undefined ? 'an operator' : `a member of ${escaped(tenant.id)}`
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
