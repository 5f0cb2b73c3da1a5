import { NAME_CHARS_MAX } from '../../../schemas/dashboard/limits.ts'
import type { TenantRole } from '../../../schemas/dashboard/roles.ts'
import { escaped } from '../../run/escaped.ts'
import { ROLE_WORDS } from './role-words.ts'
import { type Grant, SESSION_MS } from './sessions.ts'

/** The workspace and role that a link opens. */
export interface LinkInvitation {
  readonly tenantId: string
  readonly role: TenantRole
  /** Name of the inviter; undefined: the person asked for the link. */
  readonly by?: string
  /** Name of the person; undefined: the link has none. */
  readonly person: string | undefined
  /** When the link expires, milliseconds; undefined: it just did. */
  readonly endsMs: number | undefined
}

/** A question before a sign-in link is used. */
export interface SignInQuestion {
  /** Secret of the link; `isSecret` must have accepted it. */
  readonly token: string
  /** Whether the link has no name, so that the user may give one. */
  readonly asksName: boolean
  /** Undefined: the link is of an operator, or does not work. */
  readonly invitation: LinkInvitation | undefined
  /** The session of the browser that the link would end. */
  readonly replaced?: { readonly current: Grant; readonly next: Grant } | undefined
}

/**
 * A page without scripts that asks whether to sign in: who invites, to which workspace, as what, until when, and what happens next.
 * @param index HTML of the pages, for the head
 */
export function signInPage(index: string, { token, asksName, invitation, replaced }: SignInQuestion): string {
  const now =
    replaced === undefined
      ? ''
      : `<p>This browser is signed in as ${named(replaced.current)}. The link signs it in as ${named(replaced.next)} instead.</p>`
  const replace = replaced === undefined ? '' : '<input type="hidden" name="replace" value="yes">'
  const stay = replaced === undefined ? '' : '<p><a href="/">Stay signed in as before</a></p>'
  const name = asksName
    ? `<p class="ui-field"><label for="name">Your name, for the people you work with (optional)</label>
<input class="ui-input" id="name" name="name" maxlength="${NAME_CHARS_MAX}" autocomplete="name"></p>`
    : ''
  return splash(
    index,
    invitation === undefined ? 'ipid' : titleOf(invitation),
    `${invitation === undefined ? '<p>You are about to sign in with a link.</p>' : factsOf(invitation)}${now}
<form class="ui-stack" method="post" action="/sign-in"><input type="hidden" name="token" value="${token}">${replace}${name}
<p><button type="submit" class="ui-button is-primary">Sign in</button></p></form>${stay}
<p class="ui-text is-soft is-small">${invitation === undefined ? '' : nextOf(invitation)}Continue only if you know who sent the link.</p>`,
  )
}

function titleOf({ tenantId, by }: LinkInvitation): string {
  return by === undefined ? `Sign in to ${escaped(tenantId)}` : `${escaped(by)} invites you to ${escaped(tenantId)}`
}

function factsOf({ tenantId, by, role, person, endsMs }: LinkInvitation): string {
  const facts = [
    ['Workspace', escaped(tenantId)],
    ['Invited by', by === undefined ? '' : escaped(by)],
    ['Your name', person === undefined ? '' : escaped(person)],
    ['You are', ROLE_WORDS[role]],
    ['Link works', endsMs === undefined ? '' : `once, until ${minuteInUtc(new Date(endsMs))}`],
  ].filter(([, value]) => value !== '')
  return `<p>ipid shows which companies visit a website.</p>
<dl class="ui-facts is-tight">${facts.map(([title, value]) => `<div><dt>${title}</dt><dd>${value}</dd></div>`).join('')}</dl>`
}

function nextOf({ tenantId }: LinkInvitation): string {
  const hours = SESSION_MS / 3_600_000
  return `Next, this browser opens ${escaped(tenantId)}. It stays signed in until you sign out, or do not use it for ${hours} hours. `
}

/** As mails and pages without scripts write it: they do not know the zone of the reader. */
export const minuteInUtc = (at: Date) => `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`

/** @param index HTML of the pages, for the head */
export function pageWithoutScripts(index: string, content: string): string {
  return splash(index, 'ipid', content)
}

function splash(index: string, title: string, content: string): string {
  return withBody(index, `<main class="ui-splash"><h1>${title}</h1>${content}</main>`)
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
