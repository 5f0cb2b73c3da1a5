import { NAME_CHARS_MAX } from '../../../schemas/dashboard/limits.ts'
import { escaped } from '../../run/escaped.ts'
import type { Grant } from './sessions.ts'

/** A question before a sign-in link is used. */
export interface SignInQuestion {
  /** Secret of the link; `isSecret` must have accepted it. */
  readonly token: string
  /** Whether the link has no name, so that the user may give one. */
  readonly asksName: boolean
  /** The session of the browser that the link would end. */
  readonly replaced?: { readonly current: Grant; readonly next: Grant } | undefined
}

/**
 * A page without scripts that asks whether to sign in.
 * @param index HTML of the pages, for the head
 */
export function signInPage(index: string, { token, asksName, replaced }: SignInQuestion): string {
  const text =
    replaced === undefined
      ? '<p>You are about to sign in with a link. Continue only if you know who sent it.</p>'
      : `<p>This browser is signed in as ${named(replaced.current)}. The link signs it in as ${named(replaced.next)} instead. ` +
        'Continue only if you know who sent it.</p>'
  const replace = replaced === undefined ? '' : '<input type="hidden" name="replace" value="yes">'
  const stay = replaced === undefined ? '' : '<p><a href="/">Stay signed in as before</a></p>'
  const name = asksName
    ? `<p class="ui-field"><label for="name">Your name, for the people you work with (optional)</label>
<input class="ui-input" id="name" name="name" maxlength="${NAME_CHARS_MAX}" autocomplete="name"></p>`
    : ''
  return pageWithoutScripts(
    index,
    `${text}
<form class="ui-stack" method="post" action="/sign-in"><input type="hidden" name="token" value="${token}">${replace}${name}
<p><button type="submit" class="ui-button is-primary">Sign in</button></p></form>${stay}`,
  )
}

/** @param index HTML of the pages, for the head */
export function pageWithoutScripts(index: string, content: string): string {
  return withBody(index, `<main class="ui-splash"><h1>ipid</h1>${content}</main>`)
}

/** The head of the pages without scripts, and another body. */
export function withBody(index: string, body: string): string {
  const whole = `<body>${body}</body>`
  return index.replace(/<script[\s\S]*?<\/script>/g, '').replace(/<body>[\s\S]*<\/body>/, () => whole)
}

function named({ name, tenant }: Grant): string {
  const role = tenant === undefined ? 'an operator' : `a member of ${escaped(tenant.id)}`
  return name === undefined ? role : `${escaped(name)}, ${role}`
}
