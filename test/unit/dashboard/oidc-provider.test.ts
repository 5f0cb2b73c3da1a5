import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { NoAnswerError, OidcProvider, type OidcProviderOptions } from '../../../src/dashboard/oidc/provider.ts'
import { OidcRefusal } from '../../../src/dashboard/oidc/refusal.ts'
import { newSecret } from '../../../src/dashboard/server/sessions.ts'
import { selfSigned, startTls } from '../../support/certificate.ts'
import { temporaryFolder } from '../../support/enrichment-data.ts'
import { FileServer } from '../../support/file-server.ts'

/* A provider whose every answer may be wrong. The real one is in test/integration/dashboard-oidc.test.ts. */

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const { privateKey: foreignKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const REDIRECT_URI = 'https://dash.example/sign-in/oidc'

type Json = Record<string, unknown>

/** Its answers, where they differ from right ones. */
interface Faults {
  readonly metadata?: (issuer: string) => Json
  readonly claims?: Json
  readonly token?: (claims: Json) => string
  readonly userinfo?: Json
  /** Replaces the answer of a path. */
  readonly answers?: Readonly<Record<string, (response: ServerResponse, right: () => void) => void>>
  /** Further parameters with which the person comes back. */
  readonly back?: Readonly<Record<string, string>>
  readonly options?: Partial<OidcProviderOptions>
}

function part(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

function signed(claims: Json, key: KeyObject = privateKey): string {
  const text = `${part({ alg: 'ES256', kid: '1' })}.${part(claims)}`
  return `${text}.${sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
}

function json(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}

async function providerWith(t: TestContext, faults: Faults) {
  const server = await FileServer.start(t)
  const issuer = server.url
  let nonce = ''
  const claims = () => {
    const now = Math.floor(Date.now() / 1_000)
    const own = { iss: issuer, aud: 'client', sub: 'ada', iat: now, exp: now + 60, nonce }
    return { ...own, email: 'Ada@Example.com', email_verified: true, ...faults.claims }
  }
  const right: Record<string, (response: ServerResponse) => void> = {
    '/.well-known/openid-configuration': (response) =>
      json(response, {
        ...{ issuer, authorization_endpoint: `${issuer}/auth`, token_endpoint: `${issuer}/token` },
        ...{ jwks_uri: `${issuer}/keys`, userinfo_endpoint: `${issuer}/me` },
        ...{ id_token_signing_alg_values_supported: ['ES256'], response_types_supported: ['code'] },
        ...faults.metadata?.(issuer),
      }),
    '/keys': (response) => json(response, { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: '1' }] }),
    '/token': (response) => {
      const id_token = (faults.token ?? signed)(claims())
      json(response, { access_token: 'a', token_type: 'bearer', id_token })
    },
    '/me': (response) => json(response, { sub: 'ada', ...faults.userinfo }),
  }
  for (const [path, answer] of Object.entries(right)) {
    const wrong = faults.answers?.[path]
    server.handle(path, (_, response) => (wrong ? wrong(response, () => answer(response)) : answer(response)))
  }
  const provider = new OidcProvider({
    ...{ issuer, clientId: 'client', clientSecret: 'secret', name: 'Example ID', trustsEmail: false },
    ...{ redirectUri: REDIRECT_URI, answerMs: 2_000, ...faults.options },
  })
  t.after(() => provider.stop())
  const signIn = async () => {
    const secret = newSecret()
    const { searchParams: asked } = await provider.begin(secret)
    nonce = asked.get('nonce')!
    const query = new URLSearchParams({ code: 'c', state: asked.get('state')!, ...faults.back })
    return await provider.finish(secret, query.toString())
  }
  return { server, provider, signIn }
}

/** The refusal, with its cause for the log. */
async function refusalOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => assert.fail('signed in'),
    (failure: unknown) => failure,
  )
  assert.ok(error instanceof OidcRefusal, String(error))
  let [text, cause] = [`${error.status}: ${error.message}`, error.cause]
  for (; cause instanceof Error; cause = cause.cause) text += ` | ${cause.message}`
  return text
}

test('a right answer names the account and its verified address, in small letters', async (t) => {
  const { signIn, server } = await providerWith(t, {})
  assert.deepEqual(await signIn(), { issuer: server.url, subject: 'ada', email: 'ada@example.com' })
  await signIn()
  const asked = server.requests.map(({ path }) => path)
  assert.deepEqual(
    asked,
    ['/.well-known/openid-configuration', '/token', '/keys', '/token'],
    'metadata and keys are kept',
  )
})

const UNVERIFIABLE = /^403: The answer of Example ID could not be verified, so nobody was signed in/
const NO_ANSWER = /^503: Example ID does not answer now/

const FAULTS: readonly (readonly [what: string, faults: Faults, said: RegExp])[] = [
  ['no signature of its key', { token: (claims) => signed(claims, foreignKey) }, UNVERIFIABLE],
  ['no signature', { token: (claims) => `${part({ alg: 'none' })}.${part(claims)}.` }, UNVERIFIABLE],
  [
    'a signature made with the public key as a secret',
    {
      token: (claims) => {
        const text = `${part({ alg: 'HS256', kid: '1' })}.${part(claims)}`
        const key = publicKey.export({ type: 'spki', format: 'pem' })
        return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`
      },
    },
    UNVERIFIABLE,
  ],
  ['the nonce of another attempt', { claims: { nonce: 'n' } }, /^403: .*\| unexpected ID Token "nonce"/],
  ['no nonce', { claims: { nonce: undefined } }, UNVERIFIABLE],
  ['another client', { claims: { aud: 'other' } }, UNVERIFIABLE],
  ['another issuer in the token', { claims: { iss: 'https://evil.example' } }, UNVERIFIABLE],
  ['an expired token', { claims: { exp: 1_000 } }, UNVERIFIABLE],
  ['another issuer in the answer', { back: { iss: 'https://evil.example' } }, /^403: .*\| unexpected "iss"/],
  [
    'no issuer in the answer, where one was promised',
    { metadata: () => ({ authorization_response_iss_parameter_supported: true }) },
    /^403: .*"iss" \(issuer\) missing/,
  ],
  ['the state of another attempt', { back: { state: 's' } }, /^403: .*\| unexpected "state"/],
  ['a subject of 256 characters', { claims: { sub: 's'.repeat(256) } }, UNVERIFIABLE],
  [
    'details of another account',
    { claims: { email: undefined }, userinfo: { sub: 'eve', email: 'a@b.c' } },
    UNVERIFIABLE,
  ],
  [
    'refusal',
    { back: { error: 'access_denied', error_description: 'call 555' } },
    /^403: [^5|]*you or Example ID refused\.$/,
  ],
  ['an error', { back: { error: 'server_error', error_description: 'call 555' } }, /^403: [^5|]*\(server_error\)/],
  ['an error in markup', { back: { error: '<b>' } }, /^403: Example ID did not sign you in\. /],
  ['no address', { claims: { email: undefined } }, /^403: Example ID did not say your e-mail address/],
  ['an address that is no text', { claims: { email: ['a@b.c'] } }, /^403: Example ID did not say your e-mail address/],
  [
    'an address of others',
    { claims: { email_verified: false } },
    /^403: .*Ada@Example.com is yours\. Confirm it there/,
  ],
  [
    'an address of others, trusted',
    { claims: { email_verified: false }, options: { trustsEmail: true } },
    /^403: .*Confirm it there/,
  ],
  [
    'an address that the token doubts, trusted',
    {
      ...{ claims: { email: undefined, email_verified: false }, userinfo: { email: 'ada@example.com' } },
      options: { trustsEmail: true },
    },
    /^403: .*Confirm it there/,
  ],
  [
    'an address that another answer doubts, trusted',
    { claims: { email_verified: undefined }, userinfo: { email_verified: false }, options: { trustsEmail: true } },
    /^403: .*Confirm it there/,
  ],
  ['an address without a word', { claims: { email_verified: undefined } }, /^403: .*with OIDC_TRUST_EMAIL\.$/],
  [
    'the word of the token about the address of another answer',
    { claims: { email: undefined }, userinfo: { email: 'a@b.c' } },
    /^403: .*a@b.c is yours.*OIDC_TRUST_EMAIL/,
  ],
  ['metadata of another issuer', { metadata: () => ({ issuer: 'https://evil.example' }) }, /^503: .*issuer/],
  [
    'metadata that fail',
    { answers: { '/.well-known/openid-configuration': (r) => r.writeHead(502).end() } },
    /^503: .*answers 502$/,
  ],
  [
    'metadata elsewhere',
    { answers: { '/.well-known/openid-configuration': (r) => r.writeHead(302, { location: '/elsewhere' }).end() } },
    NO_ANSWER,
  ],
  ['a page of scripts', { metadata: () => ({ authorization_endpoint: 'javascript:alert(1)' }) }, /^(?:403|503): /],
  [
    'a page in clear',
    { metadata: () => ({ authorization_endpoint: 'http://evil.example/auth' }) },
    /^503: .*http:\/\/evil.example is not https$/,
  ],
  [
    'keys in clear',
    { metadata: () => ({ jwks_uri: 'http://evil.example/keys' }) },
    /^503: .*http:\/\/evil.example is not https$/,
  ],
  [
    'an answer without end',
    { answers: { '/token': (r) => r.writeHead(200, { 'content-type': 'application/json' }).end(' '.repeat(300_000)) } },
    /^503: .*\/token has more than 262144 bytes$/,
  ],
  [
    'no answer in time',
    { answers: { '/token': () => {} }, options: { answerMs: 100 } },
    /^503: .*no answer within 0.1 s$/,
  ],
  [
    'an answer that stops in the middle',
    {
      answers: { '/token': (r) => void r.writeHead(200, { 'content-type': 'application/json' }).write('{') },
      options: { answerMs: 100 },
    },
    /^503: .*no answer within 0.1 s$/,
  ],
  [
    'a used code',
    {
      answers: {
        '/token': (r) => r.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}'),
      },
    },
    /^400: This sign-in was used already, or took too long/,
  ],
  [
    'a challenge instead of a token',
    { answers: { '/token': (r) => r.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end() } },
    /^503: Example ID refuses this ipid.*OIDC_ISSUER answers 401: check OIDC_CLIENT_ID and OIDC_CLIENT_SECRET$/,
  ],
  [
    'a wrong secret',
    {
      answers: {
        '/token': (r) => r.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_client"}'),
      },
    },
    /^503: Example ID refuses this ipid.*check OIDC_CLIENT_ID and OIDC_CLIENT_SECRET$/,
  ],
]

test('an answer with a fault signs nobody in, and says why', async (t) => {
  for (const [what, faults, said] of FAULTS) {
    const { signIn } = await providerWith(t, faults)
    assert.match(await refusalOf(signIn()), said, what)
  }
})

test('an address counts as verified if the provider says so, or is trusted and says nothing', async (t) => {
  const cases: readonly Faults[] = [
    { claims: { email: undefined }, userinfo: { email: 'ada@example.com', email_verified: true } },
    { claims: { email_verified: 'true' } },
    { claims: { email_verified: undefined }, options: { trustsEmail: true } },
    { claims: { email_verified: undefined }, userinfo: { email: 'ada@example.com', email_verified: true } },
  ]
  for (const faults of cases) assert.equal((await (await providerWith(t, faults)).signIn()).email, 'ada@example.com')
})

test('a sign that only looks like a letter stays what it is', async (t) => {
  const { signIn } = await providerWith(t, { claims: { email: 'A\u212A@example.com' } })
  assert.equal((await signIn()).email, 'a\u212a@example.com')
})

test('after a failure, the next person asks the provider again', async (t) => {
  let isDown = true
  const { provider, server } = await providerWith(t, {
    answers: {
      '/.well-known/openid-configuration': (response, right) => (isDown ? response.writeHead(503).end() : right()),
    },
  })
  assert.match(await refusalOf(provider.begin(newSecret())), NO_ANSWER)
  isDown = false
  await provider.begin(newSecret())
  assert.equal(server.requests.length, 2)
})

test('an issuer for every directory is refused: its people may have typed any address', async (t) => {
  const issuer = 'https://login.microsoftonline.com/common/v2.0'
  const metadata = {
    ...{ issuer: 'https://login.microsoftonline.com/{tenantid}/v2.0', authorization_endpoint: `${issuer}/authorize` },
    ...{ token_endpoint: `${issuer}/token`, jwks_uri: `${issuer}/keys` },
  }
  t.mock.method(globalThis, 'fetch', async () => Response.json(metadata))
  const provider = new OidcProvider({
    ...{ issuer, clientId: 'client', clientSecret: 'secret', name: 'Example ID', trustsEmail: true },
    redirectUri: REDIRECT_URI,
  })
  assert.match(await refusalOf(provider.begin(newSecret())), /^503: .*OIDC_ISSUER is .*, and its metadata name /)
})

test('an attempt has its own state, nonce and challenge, and asks for no more than the address', async (t) => {
  const { provider, server } = await providerWith(t, {})
  const secret = newSecret()
  const [{ origin, pathname, searchParams: one }, { searchParams: other }] = [
    await provider.begin(secret),
    await provider.begin(newSecret()),
  ]
  assert.equal(origin + pathname, `${server.url}/auth`)
  for (const name of ['state', 'nonce', 'code_challenge']) {
    assert.match(one.get(name)!, /^[\w-]{43}$/)
    assert.notEqual(one.get(name), other.get(name))
  }
  assert.equal(new Set(['state', 'nonce', 'code_challenge'].map((name) => one.get(name))).size, 3)
  const asked = ['redirect_uri', 'scope', 'response_type', 'code_challenge_method'].map((name) => one.get(name))
  assert.deepEqual(asked, [REDIRECT_URI, 'openid email', 'code', 'S256'])
  const state = one.get('state')!
  assert.equal(provider.isAnswerTo(secret, `code=c&state=${state}`), true)
  for (const query of ['', 'state=', `state=${other.get('state')}`, `state=${state}&state=${state}`])
    assert.equal(provider.isAnswerTo(secret, query), false, query)
})

test('of a certificate that is refused people read the reason, and operators the remedy', async (t) => {
  // The port after it is never reached: the certificate is refused before.
  const port = await startTls(t, await selfSigned(await temporaryFolder(t)), 1)
  const provider = new OidcProvider({
    ...{ issuer: `https://localhost:${port}`, clientId: 'client', clientSecret: 'secret', name: 'Acme' },
    trustsEmail: false,
    redirectUri: REDIRECT_URI,
  })
  await assert.rejects(provider.check(), (error) => {
    assert.ok(error instanceof NoAnswerError)
    assert.match(error.message, /: the authority of the server's certificate is not known here$/)
    assert.match(error.remedy!, /^set NODE_EXTRA_CA_CERTS /)
    return true
  })
})
