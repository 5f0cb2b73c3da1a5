import type { AlertRecord } from '../../../schemas/alert.ts'
import { CONFIRM_DAYS } from '../../alerts/delivery.ts'
import type { RedisAddresses, TenantAddress } from '../../alerts/redis/address-store.ts'
import type { Alert } from '../../alerts/redis/alert-store.ts'
import type { Exchange } from '../../http/engine/exchange.ts'
import { HttpError } from '../../http/engine/http-error.ts'
import type { HttpResponse } from '../../http/engine/response.ts'
import type { Clock } from '../../run/clock.ts'
import { escaped } from '../../run/escaped.ts'
import { pageWithoutScripts } from './sign-in-page.ts'

interface ConfirmingOptions {
  readonly addresses: Pick<RedisAddresses, 'addressOf' | 'waitingFor' | 'confirm'>
  /** HTML of the pages. */
  readonly index: string
  /** Resolves when earlier changes are on disk. */
  readonly persisted: () => Promise<void>
  readonly clock: Clock
}

/** Confirms e-mail addresses of alerts, digests and exports by link, without a session. A link asks first: programs that scan mail open links too. */
export class Confirming {
  readonly #options: ConfirmingOptions

  constructor(options: ConfirmingOptions) {
    this.#options = options
  }

  /** `GET /confirm?token=…` */
  async open({ request }: Exchange): Promise<HttpResponse> {
    const token = new URLSearchParams(request.query).get('token') ?? ''
    const found = await this.#options.addresses.addressOf(token)
    if (found === undefined) return this.#gone()
    return this.#asks(found, token, await this.#options.addresses.waitingFor(found))
  }

  #asks({ address, tenantId }: TenantAddress, token: string, waiting: readonly Alert[]): HttpResponse {
    const about =
      waiting.length === 0
        ? `<p>${escaped(address)} gets alerts, digests or files of exports of ${escaped(tenantId)} once you confirm it.</p>`
        : `<p>Once you confirm it, ${escaped(address)} gets this from ${escaped(tenantId)}:</p>
<ul>${waiting.map((one) => `<li>${escaped(whatWaits(one))}</li>`).join('')}</ul>`
    return this.#page(
      200,
      `${about}
<form class="ui-stack" method="post" action="/confirm"><input type="hidden" name="token" value="${escaped(token)}">
<input type="hidden" name="shown" value="${waiting.map(({ id }) => escaped(id)).join(' ')}">
<p><button type="submit" class="ui-button is-primary">Confirm the address</button></p></form>`,
    )
  }

  /** `POST /confirm`: the form of our page. Starts what that page listed. When only other alerts wait, the page lists them and asks again. */
  async confirm(exchange: Exchange): Promise<HttpResponse> {
    const { addresses, clock, persisted } = this.#options
    if (exchange.request.head.origin === '')
      throw new HttpError('forbidden', 'the request does not come from the page of the link')
    exchange.assertBody()
    const form = new URLSearchParams(await exchange.text())
    const token = form.get('token') ?? ''
    const shown = (form.get('shown') ?? '').split(' ')
    const found = await addresses.addressOf(token)
    if (found === undefined) return this.#gone()
    if (!(await addresses.confirm(found, clock.now(), { token, shown }))) {
      const waiting = await addresses.waitingFor(found)
      return waiting.length === 0 ? this.#gone() : this.#asks(found, token, waiting)
    }
    await persisted()
    return this.#page(
      200,
      `<p>${escaped(found.address)} is confirmed. What you were shown starts now. You can close this page.</p>`,
    )
  }

  #gone(): HttpResponse {
    return this.#page(
      404,
      `<p>This link does not work: it was used, or is older than ${CONFIRM_DAYS} days. Ask the person who entered your address to send another.</p>`,
    )
  }

  #page(status: number, text: string): HttpResponse {
    const body = pageWithoutScripts(this.#options.index, text)
    return { status, type: 'text/html; charset=utf-8', body, headers: { 'cache-control': 'no-store' } }
  }
}

function whatWaits({ on, name, export: of, once }: AlertRecord): string {
  if (on === 'export') return once ? `The next file of the export ${of?.name}` : `Each file of the export ${of?.name}`
  return on === 'digest' ? name : `The alert ${name}`
}
