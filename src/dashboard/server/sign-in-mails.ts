import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import type { TenantRole } from '../../../schemas/dashboard/roles.ts'
import type { RedisTestLimits } from '../../alerts/redis/test-limits.ts'
import type { Mailer } from '../../alerts/sending/mail.ts'
import { BackpressureError } from '../../run/errors.ts'
import { timeLimit } from '../../run/time-limit.ts'
import type { TenantStore } from '../../tenants/stores.ts'
import { askedLinks, findPeople, type Person, type PersonStore } from './people.ts'
import { ROLE_WORDS } from './role-words.ts'
import { type Sessions, signInUrl } from './sessions.ts'
import { minuteInUtc } from './sign-in-page.ts'

interface SignInMailOptions {
  readonly mailer: Pick<Mailer, 'send'>
  readonly sessions: Pick<Sessions, 'createLink'>
  readonly people: Pick<PersonStore, 'listPeople'>
  readonly tenants: Pick<TenantStore, 'listTenants'>
  readonly limits: Pick<RedisTestLimits, 'take'>
  /** Setting OIDC_ISSUER; undefined: not set. */
  readonly issuer: string | undefined
  /** URL of the dashboard in mails. */
  readonly dashboardUrl: string
  readonly log: Logger
}

/** Facts of an invitation in a mail. */
interface MailedInvitation {
  readonly tenantId: string
  readonly address: string
  /** Who invites; undefined: an operator without a name. */
  readonly by: string | undefined
  readonly role: TenantRole
  readonly secret: string
  readonly expiresAt: Date
}

/** A requested link works this long. */
const MAILED_LINK_MS = 900_000
/** Requests that wait for their turn; further ones are forgotten. */
const WAITING_MAX = 50
/** How long the person who invites waits for the mail server. */
const INVITE_MS = 20_000

/** Mails with sign-in links. */
export class SignInMails {
  readonly #options: SignInMailOptions
  readonly #stopping = new AbortController()
  #waiting = 0
  #turn: Promise<void> = Promise.resolve()

  constructor(options: SignInMailOptions) {
    this.#options = options
  }

  /**
   * Mails a link to the people who have this address, later and one after the other. The caller learns nothing about them, not even by
   * the time that it takes. People who are bound to an account of the provider get none: the address may have a new owner.
   */
  request(address: string): void {
    if (this.#waiting >= WAITING_MAX || this.#stopping.signal.aborted) return
    this.#waiting++
    this.#turn = this.#turn.then(async () => {
      try {
        await this.#mailLinks(address.trim().toLowerCase())
      } catch (err) {
        if (!(err instanceof BackpressureError)) this.#options.log.warn({ err }, 'a sign-in link could not be mailed')
      }
      this.#waiting--
    })
  }

  /** Mails an invitation. @returns why it could not be sent; undefined: the mail server has taken it */
  async invite(invitation: MailedInvitation): Promise<string | undefined> {
    const { limits, mailer } = this.#options
    const { tenantId, address } = invitation
    const signal = timeLimit(INVITE_MS, this.#stopping.signal)
    try {
      const reached = 'this address was invited too often'
      await limits.take(tenantId, [{ of: 'destination', id: `invitation ${address}`, reached }])
      await mailer.send({ id: randomUUID(), to: address, ...this.#invitationText(invitation) }, signal)
      return undefined
    } catch (error) {
      return (error as Error).message
    }
  }

  /** Resolves when no mail is on its way. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#turn
  }

  async #mailLinks(address: string): Promise<void> {
    const { sessions, limits, mailer, people, tenants } = this.#options
    const found = await findPeople(tenants, people, (all) =>
      all.find((person) => person.email === address && !this.#isBound(person)),
    )
    if (found.length === 0) return
    await limits.take('', [{ of: 'destination', id: `sign-in ${address}`, reached: 'links were mailed' }])
    const links = await askedLinks(sessions, found, MAILED_LINK_MS)
    const lines = links.flatMap(({ tenant, person, secret }) => [
      ...[`To the workspace ${tenant.id}, as ${person.name}:`, this.#urlOf(secret), ''],
    ])
    const text = [
      `Sign in to ipid within ${MAILED_LINK_MS / 60_000} minutes. ${links.length === 1 ? 'The link works' : 'Each link works'} once.`,
      ...['', ...lines, 'Ignore this mail if you did not ask for it: without a link, nobody gets in.'],
    ].join('\n')
    await mailer.send(
      { id: randomUUID(), to: address, subject: 'Your sign-in link for ipid', text },
      this.#stopping.signal,
    )
  }

  #isBound({ account }: Person): boolean {
    const { issuer } = this.#options
    // One of the two may end with a slash.
    return issuer !== undefined && account !== undefined && new URL(account.issuer).href === new URL(issuer).href
  }

  #invitationText({ tenantId, by, role, secret, expiresAt }: MailedInvitation) {
    const inviter = by ?? 'An operator'
    return {
      subject: `${inviter} invites you to ${tenantId} on ipid`,
      text: [
        `${inviter} invites you to the workspace ${tenantId} on ipid, which shows the companies behind the visits of a website.`,
        `You join as ${ROLE_WORDS[role]}.`,
        ...['', 'This link signs you in, once:', this.#urlOf(secret), ''],
        `It works until ${minuteInUtc(expiresAt)}. Ignore this mail if you do not know who sent it.`,
      ].join('\n'),
    }
  }

  #urlOf(secret: string): string {
    return signInUrl(this.#options.dashboardUrl, secret)
  }
}
