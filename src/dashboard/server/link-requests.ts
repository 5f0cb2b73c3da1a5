import { MailSignInBody } from '../../../schemas/dashboard/session.ts'
import type { Exchange } from '../../http/engine/exchange.ts'
import { HttpError } from '../../http/engine/http-error.ts'
import type { HttpResponse } from '../../http/engine/response.ts'
import { parseJson } from '../../http/route/parse-json.ts'
import { assertSchema } from '../../http/route/schema.ts'
import { compileValidator } from '../../pipeline/event/validator.ts'
import type { Clock } from '../../run/clock.ts'
import { Attempts, clientOf } from './attempts.ts'
import type { SignInMails } from './sign-in-mails.ts'

const validate = compileValidator(MailSignInBody)

/** Requests for sign-in links by e-mail, from people without a session. Every address gets the same answer. */
export class LinkRequests {
  readonly #mails: Pick<SignInMails, 'request'> | undefined
  readonly #attempts: Attempts

  constructor(mails: Pick<SignInMails, 'request'> | undefined, clock: Clock) {
    this.#mails = mails
    this.#attempts = new Attempts(clock)
  }

  /** `POST /sign-in/mail` */
  async take(exchange: Exchange): Promise<HttpResponse> {
    const { origin, forwardedFor } = exchange.request.head
    if (origin === '') throw new HttpError('forbidden', 'the request does not come from the sign-in page')
    if (this.#mails === undefined)
      throw new HttpError('conflict', 'this ipid sends no e-mail: an operator sets SMTP_URL')
    const waitSeconds = this.#attempts.add(clientOf(exchange.peerAddress(), forwardedFor))
    if (waitSeconds > 0) {
      const headers = { 'retry-after': String(waitSeconds) }
      throw new HttpError('rate_limited', 'too many links were requested: try again in a minute', { headers })
    }
    exchange.assertBody()
    const body = parseJson(await exchange.text())
    assertSchema(validate, body)
    this.#mails.request((body as MailSignInBody).email)
    return { status: 204, body: '', headers: { 'cache-control': 'no-store' } }
  }
}
