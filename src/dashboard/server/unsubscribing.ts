import type { AlertAdmin } from '../../alerts/admin.ts'
import { isDigest, type Subscription } from '../../alerts/redis/alert-store.ts'
import type { Exchange } from '../../http/engine/exchange.ts'
import type { HttpResponse } from '../../http/engine/response.ts'
import { escaped } from '../../run/escaped.ts'
import { pageWithoutScripts } from './sign-in-page.ts'

interface UnsubscribingOptions {
  readonly digests: Pick<AlertAdmin, 'subscriptionOfLink' | 'unsubscribe'>
  /** HTML of the pages. */
  readonly index: string
  /** Resolves when earlier changes are on disk. */
  readonly persisted: () => Promise<void>
}

type Ended = Exclude<Awaited<ReturnType<AlertAdmin['subscriptionOfLink']>>, Subscription>

const ENDED: Readonly<Record<Ended, readonly [status: number, text: string]>> = {
  gone: [200, 'This subscription has ended: no more of its mails are sent.'],
  invalid: [404, 'This link is not complete. Copy all of it from the mail.'],
  sealed: [
    410,
    'This link works no more, because the secrets key of this ipid was replaced. Ask a person who uses this dashboard to unsubscribe you.',
  ],
}

/**
 * Ends subscriptions to the digest or to an export by the link of a mail, without a session. Opening the link asks first, because programs that scan mail open
 * links. A POST ends it at once: from the button of our page, or from a program for mail (RFC 8058).
 */
export class Unsubscribing {
  readonly #options: UnsubscribingOptions

  constructor(options: UnsubscribingOptions) {
    this.#options = options
  }

  /** `GET /unsubscribe?tenant=…&digest=…&key=…` */
  async open(exchange: Exchange): Promise<HttpResponse> {
    const found = await this.#found(exchange)
    if (typeof found === 'string') return this.#ended(found)
    return this.#page(
      200,
      `<p>${escaped(found.target)} gets ${subjectOf(found)}.</p>
<form class="ui-stack" method="post" action="/unsubscribe?${escaped(exchange.request.query)}">
<p><button type="submit" class="ui-button is-primary">Unsubscribe</button></p></form>`,
    )
  }

  /** `POST` of the same URL. The body says nothing more. */
  async end(exchange: Exchange): Promise<HttpResponse> {
    exchange.assertBody()
    await exchange.text()
    const found = await this.#found(exchange)
    if (typeof found === 'string') return this.#ended(found)
    await this.#options.digests.unsubscribe(found)
    await this.#options.persisted()
    return this.#page(200, `<p>${escaped(found.target)} gets no more of these mails. You can close this page.</p>`)
  }

  async #found({ request }: Exchange): Promise<Subscription | Ended> {
    const query = new URLSearchParams(request.query)
    const [tenant = '', digest = '', key = ''] = ['tenant', 'digest', 'key'].map((name) => query.get(name) ?? '')
    return await this.#options.digests.subscriptionOfLink(tenant, digest, key)
  }

  #ended(why: Ended): HttpResponse {
    const [status, text] = ENDED[why]
    return this.#page(status, `<p>${text}</p>`)
  }

  #page(status: number, text: string): HttpResponse {
    const body = pageWithoutScripts(this.#options.index, text)
    return { status, type: 'text/html; charset=utf-8', body, headers: { 'cache-control': 'no-store' } }
  }
}

/** The content of a subscription, as HTML. */
function subjectOf(found: Subscription): string {
  const tenant = escaped(found.tenantId)
  if (!isDigest(found)) return `the files of the export ${escaped(found.export.name)} of ${tenant}`
  const of = found.segment_id === undefined ? '' : 'a segment of '
  return `the digest of ${of}${tenant} ${found.every === 'day' ? 'every day' : 'every Monday'}`
}
