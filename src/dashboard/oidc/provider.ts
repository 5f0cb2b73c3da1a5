import { createHash } from 'node:crypto'
import type { ClientAuth, Configuration, CustomFetch } from 'openid-client'
import { EMAIL_CHARS_MAX } from '../../../schemas/dashboard/limits.ts'
import { linkBaseOf } from '../../alerts/link-base.ts'
import type { Config } from '../../config/config.ts'
import { causeText } from '../../run/cause-text.ts'
import { BackpressureError } from '../../run/errors.ts'
import { isLoopbackHost } from '../../run/loopback.ts'
import { TenantSlots } from '../../run/tenant-slots.ts'
import { timeLimit } from '../../run/time-limit.ts'
import { tlsProblemOf } from '../../run/tls-problem.ts'
import type { OidcAccount } from '../server/people.ts'
import { OidcRefusal } from './refusal.ts'

export interface OidcProviderOptions {
  /** Setting OIDC_ISSUER. */
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  /** Its name for people. */
  readonly name: string
  /** Whether an address counts as verified if the provider does not say it. */
  readonly trustsEmail: boolean
  /** Where the provider sends people back to. */
  readonly redirectUri: string
  /** For each answer. Default: `ANSWER_MS`. */
  readonly answerMs?: number
}

/** The settings of the provider; undefined: OIDC_ISSUER is not set. A command may have no secret, which only `finish` needs. */
export function oidcOptionsOf(config: Config): OidcProviderOptions | undefined {
  const { oidcIssuer: issuer, oidcClientId: clientId, oidcClientSecret: clientSecret = '', oidcName: name } = config
  if (issuer === undefined || clientId === undefined) return undefined
  const redirectUri = `${linkBaseOf(config)}/sign-in/oidc`
  return { issuer, clientId, clientSecret, name, trustsEmail: config.oidcTrustEmail === 'on', redirectUri }
}

/** An account, and the verified e-mail address of its owner. */
export interface OidcIdentity extends OidcAccount {
  readonly email: string
}

const ANSWER_MS = 10_000
/** Keys and metadata of large providers have about 20 KB. */
const ANSWER_BYTES_MAX = 262_144
/** Keys and endpoints of a provider change. */
const METADATA_MS = 3_600_000
/** Most characters of a subject (OpenID Connect Core 1.0, 2). */
const SUBJECT_CHARS_MAX = 255

/** The provider gave no usable answer. */
export class NoAnswerError extends Error {
  override name = 'NoAnswerError'
  /** For operators: it names settings. */
  readonly remedy: string | undefined

  constructor(message: string, remedy?: string) {
    super(message)
    this.remedy = remedy
  }
}

type Client = typeof import('openid-client')

/**
 * A provider of OpenID Connect: authorization code flow with PKCE, state and nonce, id token with its signature. Asks for its metadata when
 * somebody signs in, and loads its package then. The operator chooses the provider, as that of SMTP_URL, so it may be in a private network. All of
 * its addresses must be https; with a provider on this machine, http on this machine.
 */
export class OidcProvider {
  readonly #options: OidcProviderOptions
  readonly #stopping = new AbortController()
  #metadata: { readonly found: Promise<Configuration>; readonly untilMs: number } | undefined
  readonly #slots: TenantSlots

  constructor(options: OidcProviderOptions) {
    this.#options = options
    const refusal = 'Too many people sign in now. Begin again in a few seconds.'
    const waiting = { waitingOfTenant: 64, waitMaxMs: ANSWER_MS }
    this.#slots = new TenantSlots({ ofTenant: 8, all: 8, ...waiting, refusal, retrySeconds: 5 })
  }

  get name(): string {
    return this.#options.name
  }

  get redirectUri(): string {
    return this.#options.redirectUri
  }

  /** Ends all requests. */
  stop(): void {
    this.#stopping.abort(new Error('the dashboard stops'))
  }

  /** Asks for the metadata. @throws Error with the reason for which they cannot be had or used */
  async check(): Promise<void> {
    await this.#configuration(await import('openid-client'))
  }

  /**
   * The address at which a person signs in. State, nonce and PKCE verifier follow from one secret, so that nothing is stored for strangers.
   * @param secret 256 random bits for this attempt
   * @throws OidcRefusal
   */
  async begin(secret: string): Promise<URL> {
    const client = await import('openid-client')
    try {
      const config = await this.#configuration(client)
      const { state, nonce, verifier } = derived(secret)
      const url = client.buildAuthorizationUrl(config, {
        ...{ redirect_uri: this.#options.redirectUri, scope: 'openid email', state, nonce },
        ...{ code_challenge: await client.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256' },
      })
      assertProtected(url)
      return url
    } catch (error) {
      throw this.#refusalOf(error, client)
    }
  }

  /** Whether an answer of the provider has the state of this attempt. */
  isAnswerTo(secret: string, query: string): boolean {
    const states = new URLSearchParams(query).getAll('state')
    return states.length === 1 && states[0] === derived(secret).state
  }

  /**
   * Exchanges the code of an answer, and verifies who signed in.
   * @param secret of the attempt
   * @param query of the request with which the provider sent the person back
   * @throws OidcRefusal
   */
  async finish(secret: string, query: string): Promise<OidcIdentity> {
    const client = await import('openid-client')
    try {
      return await this.#slots.run('', () => this.#identity(client, secret, query), this.#stopping.signal)
    } catch (error) {
      throw this.#refusalOf(error, client)
    }
  }

  async #identity(client: Client, secret: string, query: string): Promise<OidcIdentity> {
    const { name, redirectUri } = this.#options
    const config = await this.#configuration(client)
    const { state, nonce, verifier } = derived(secret)
    const answered = new URL(redirectUri)
    answered.search = query
    const tokens = await client.authorizationCodeGrant(config, answered, {
      ...{ expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true },
    })
    const { iss: issuer, sub: subject, ...claims } = tokens.claims()!
    if (subject.length > SUBJECT_CHARS_MAX)
      throw new Error(`the subject is longer than ${SUBJECT_CHARS_MAX} characters`)
    const hasAll = typeof claims.email === 'string' && claims.email_verified !== undefined
    // Many providers have the claims of a scope there only (OpenID Connect Core 1.0, 5.4).
    const canAsk = config.serverMetadata().userinfo_endpoint !== undefined
    const more = hasAll || !canAsk ? undefined : await client.fetchUserInfo(config, tokens.access_token, subject)
    // An address that either of them doubts signs in no person.
    const isDoubted = [claims, more].some((one) => one?.email_verified === false || one?.email_verified === 'false')
    // Both of one answer: it is about this address that the provider says whether it is verified.
    const { email, email_verified: said } = more?.email === undefined ? claims : more
    const isVerified = isDoubted ? false : said
    if (typeof email !== 'string' || email === '' || email.length > EMAIL_CHARS_MAX)
      throw new OidcRefusal(
        403,
        `${name} did not say your e-mail address. An operator adds it to what ipid may see there.`,
      )
    if (isVerified !== true && isVerified !== 'true' && !(isVerified === undefined && this.#options.trustsEmail)) {
      const why = `${name} does not say that the address ${email} is yours.`
      const remedy =
        isVerified === undefined
          ? 'An operator allows such a provider with OIDC_TRUST_EMAIL.'
          : 'Confirm it there, then sign in again.'
      throw new OidcRefusal(403, `${why} ${remedy}`)
    }
    // Letters of ASCII only: `toLowerCase` makes other signs equal to them, such as the Kelvin sign to k.
    return { issuer, subject, email: email.replace(/[A-Z]/g, (letter) => letter.toLowerCase()) }
  }

  /** The metadata of the provider, asked for once for all callers. */
  #configuration(client: Client): Promise<Configuration> {
    const nowMs = performance.now()
    if (this.#metadata === undefined || this.#metadata.untilMs <= nowMs) {
      const found = this.#discover(client)
      const metadata = { found, untilMs: nowMs + METADATA_MS }
      this.#metadata = metadata
      found.catch(() => {
        if (this.#metadata === metadata) this.#metadata = undefined
      })
    }
    return this.#metadata.found
  }

  async #discover(client: Client): Promise<Configuration> {
    try {
      return await this.#discovered(client)
    } catch (error) {
      const { issuer } = this.#options
      throw noAnswerIn(error) ?? new NoAnswerError(`the metadata of ${issuer} cannot be used: ${causeText(error)}`)
    }
  }

  async #discovered(client: Client): Promise<Configuration> {
    const { issuer, clientId, clientSecret } = this.#options
    const url = new URL(issuer)
    const auth: ClientAuth = (server, ...rest) => {
      const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
      const isBasic = methods.includes('client_secret_basic')
      const authenticate = isBasic ? client.ClientSecretBasic(clientSecret) : client.ClientSecretPost(clientSecret)
      authenticate(server, ...rest)
    }
    const insecure = url.protocol === 'http:' ? [client.allowInsecureRequests] : []
    const config = await client.discovery(url, clientId, undefined, auth, {
      // Else it would not check the signature of an id token, because that comes from the provider itself.
      execute: [client.enableNonRepudiationChecks, ...insecure],
      [client.customFetch]: this.#fetch,
    })
    const { issuer: named } = config.serverMetadata()
    // The package lets a Microsoft issuer for every directory pass, whose people choose their addresses themselves.
    if (!URL.canParse(named) || new URL(named).href !== url.href)
      throw new NoAnswerError(`OIDC_ISSUER is ${issuer}, and its metadata name ${named}`)
    return config
  }

  /** Follows no redirect, and reads a limited part of an answer in limited time. */
  readonly #fetch: CustomFetch = async (address, { method, headers, body }) => {
    const url = new URL(address)
    assertProtected(url)
    const { answerMs = ANSWER_MS } = this.#options
    const limit = timeLimit(answerMs, this.#stopping.signal)
    try {
      const response = await fetch(url, {
        method,
        headers,
        body: body as RequestInit['body'],
        redirect: 'manual',
        signal: limit,
      })
      const { status } = response
      if (status >= 500 || status === 429) throw new NoAnswerError(`${url.origin} answers ${status}`)
      const bytes = await wholeOf(response)
      return new Response(bytes.length === 0 ? null : bytes, { status, headers: response.headers })
    } catch (error) {
      if (error instanceof NoAnswerError) throw error
      const reason = limit.aborted ? `no answer within ${answerMs / 1_000} s` : causeText(error)
      throw new NoAnswerError(`${url.origin}: ${reason}`, tlsProblemOf(error)?.remedy)
    }
  }

  #refusalOf(error: unknown, client: Client): unknown {
    const { name } = this.#options
    if (!(error instanceof Error) || error instanceof OidcRefusal) return error
    if (error instanceof BackpressureError) return new OidcRefusal(503, error.message)
    const noAnswer = noAnswerIn(error)
    if (noAnswer !== undefined) {
      const text = `${name} does not answer now. Try again in a minute, or ask an operator for a link.`
      return new OidcRefusal(503, text, noAnswer)
    }
    if (error instanceof client.AuthorizationResponseError) {
      if (error.error === 'access_denied')
        return new OidcRefusal(403, `${name} did not sign you in: you or ${name} refused.`)
      // The description may be anybody's text.
      const code = /^[a-z_]{1,40}$/.test(error.error) ? ` (${error.error})` : ''
      return new OidcRefusal(403, `${name} did not sign you in${code}. Begin again, or ask an operator.`, error)
    }
    const isOfBody = error instanceof client.ResponseBodyError
    if (isOfBody && error.error === 'invalid_grant')
      return new OidcRefusal(400, 'This sign-in was used already, or took too long. Begin again.', error)
    if (isOfBody || error instanceof client.WWWAuthenticateChallengeError) {
      const said = isOfBody ? error.error : error.status
      const reason = new Error(`OIDC_ISSUER answers ${said}: check OIDC_CLIENT_ID and OIDC_CLIENT_SECRET`)
      return new OidcRefusal(503, `${name} refuses this ipid. An operator finds the reason in the log.`, reason)
    }
    const text = `The answer of ${name} could not be verified, so nobody was signed in. Begin again. If this stays, an operator finds the reason in the log.`
    return new OidcRefusal(403, text, error)
  }
}

function derived(secret: string): { readonly state: string; readonly nonce: string; readonly verifier: string } {
  const of = (label: string) => createHash('sha256').update(`${label} ${secret}`).digest('base64url')
  return { state: of('state'), nonce: of('nonce'), verifier: of('verifier') }
}

/** @throws NoAnswerError when a URL is neither https, nor http on this machine */
function assertProtected({ protocol, host, origin }: URL): void {
  if (protocol === 'https:' || (protocol === 'http:' && isLoopbackHost(host))) return
  throw new NoAnswerError(`${origin} is not https`)
}

async function wholeOf({ body, url }: Response): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of body ?? []) {
    bytes += piece.length
    if (bytes > ANSWER_BYTES_MAX) throw new NoAnswerError(`${url} has more than ${ANSWER_BYTES_MAX} bytes`)
    pieces.push(piece)
  }
  return new Uint8Array(Buffer.concat(pieces))
}

function noAnswerIn(error: unknown): NoAnswerError | undefined {
  if (!(error instanceof Error)) return undefined
  return error instanceof NoAnswerError ? error : noAnswerIn(error.cause)
}
