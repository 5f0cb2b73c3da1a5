import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text as textOf } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { OidcPeople } from '../../src/dashboard/oidc/people.ts'
import { OidcProvider, type OidcProviderOptions } from '../../src/dashboard/oidc/provider.ts'
import { RedisPersonStore } from '../../src/dashboard/redis/people.ts'
import type { RedisClient } from '../../src/stores/redis/connect.ts'
import { RedisTenantStore } from '../../src/tenants/redis/tenant-store.ts'
import { takePort } from './ports.ts'

// The package wants Node.js 22 for this function only.
if (!('parse' in URL)) {
  const parse = (text: string, base?: string) => (URL.canParse(text, base) ? new URL(text, base) : null)
  Object.assign(URL, { parse })
}
// @ts-expect-error: it has no types
const { default: Provider } = await quietly(() => import('oidc-provider'))

/** Without the package's advice for production. */
function quietly<T>(work: () => T): T {
  const { info, warn } = console
  Object.assign(console, { info: () => {}, warn: () => {} })
  const restore = () => void Object.assign(console, { info, warn })
  const done = work()
  if (done instanceof Promise) done.then(restore, restore)
  else restore()
  return done
}

export interface TestAccount {
  readonly email?: string
  readonly email_verified?: boolean
}

/** Who refuses at the provider. */
export const REFUSES = 'refuses'

/** The npm package oidc-provider on loopback: people sign in by a form with the one field *login*, without a password. */
export class TestOidcProvider {
  readonly issuer: string
  /** Claims by login. The login is the subject. */
  readonly accounts = new Map<string, TestAccount>()
  readonly clientId = 'ipid-client'
  readonly clientSecret = 'a-secret-of-the-client'
  /** Whether the id token has the e-mail address; otherwise only the userinfo endpoint does. */
  isEmailInToken = false
  readonly #server = createServer((request, response) => void this.#answer(request, response))
  readonly #port: number
  // biome-ignore lint/suspicious/noExplicitAny: the package has no types
  #provider: any

  private constructor(port: number, host: string) {
    this.#port = port
    this.issuer = `http://${host}:${port}`
  }

  /** @param host a name of this machine, which is a site of its own for browsers */
  static async start(t: Pick<TestContext, 'after'>, host = '127.0.0.1'): Promise<TestOidcProvider> {
    const provider = new TestOidcProvider(takePort(), host)
    await provider.listen()
    t.after(() => provider.close())
    return provider
  }

  async listen(): Promise<void> {
    this.#server.listen(this.#port, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  /** Admits the client, which it leads back there. */
  admit(redirectUri: string): OidcProviderOptions {
    const { issuer, accounts, clientId, clientSecret } = this
    const settings = {
      clients: [{ client_id: clientId, client_secret: clientSecret, redirect_uris: [redirectUri] }],
      claims: { openid: ['sub'], email: ['email', 'email_verified'] },
      conformIdTokenClaims: !this.isEmailInToken,
      cookies: { keys: ['a key of the test'] },
      pkce: { required: () => true },
      features: { devInteractions: { enabled: false } },
      interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
      findAccount: (_: unknown, id: string) => ({
        accountId: id,
        claims: async () => ({ sub: id, ...accounts.get(id) }),
      }),
      // biome-ignore lint/suspicious/noExplicitAny: the package has no types
      loadExistingGrant: async ({ oidc }: any) => {
        const grant = new oidc.provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId })
        grant.addOIDCScope('openid email')
        await grant.save()
        return grant
      },
      // Set, because the package mentions each of its defaults.
      ttl: { Interaction: 600, Grant: 600, Session: 600, AccessToken: 600, IdToken: 600, AuthorizationCode: 60 },
    }
    this.#provider = quietly(() => new Provider(issuer, settings))
    return { issuer, clientId, clientSecret, name: 'Example ID', trustsEmail: false, redirectUri }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!request.url!.startsWith('/interaction/')) return this.#provider.callback()(request, response)
    if (request.method === 'GET') {
      const form = '<form method="post"><label>Login <input name="login"></label><button>Go on</button></form>'
      response.writeHead(200, { 'content-type': 'text/html' }).end(`<!doctype html><title>Example ID</title>${form}`)
      return
    }
    const login = new URLSearchParams(await textOf(request)).get('login')
    const result = login === REFUSES ? { error: 'access_denied' } : { login: { accountId: login } }
    await this.#provider.interactionFinished(request, response, result)
  }

  /** Signs in at an address of the provider like a browser. @returns where the provider leads back to */
  async pass(address: string, login: string): Promise<string> {
    const cookies = new Map<string, string>()
    let url = address
    let init: RequestInit = {}
    for (let steps = 0; steps < 10; steps++) {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
      const response = await fetch(url, { ...init, redirect: 'manual', headers: { cookie } })
      for (const line of response.headers.getSetCookie()) {
        const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!
        cookies.set(name!, value!)
      }
      const location = response.headers.get('location')
      if (location === null) {
        assert.equal(response.status, 200, await response.text())
        init = { method: 'POST', body: new URLSearchParams({ login }) }
        continue
      }
      init = {}
      url = new URL(location, url).href
      if (!url.startsWith(`${this.issuer}/`)) return url
    }
    throw new Error('the provider does not come to an end')
  }
}

/** What `createDashboard` takes, with the people of a Redis. */
export function testOidc(redis: RedisClient, options: OidcProviderOptions) {
  const people = new OidcPeople({ people: new RedisPersonStore(redis), tenants: new RedisTenantStore(redis) })
  return { provider: new OidcProvider(options), people }
}
