import type { Readable } from 'node:stream'
import type { Transporter } from 'nodemailer'
import { timeLimit } from '../../run/time-limit.ts'

interface MailerOptions {
  /** Setting SMTP_URL. */
  readonly url: string
  /** Setting SMTP_FROM. */
  readonly from: string
}

interface Mail {
  /** Becomes its Message-ID, so that a repeat can be recognised. */
  readonly id: string
  readonly to: string
  readonly subject: string
  readonly text: string
  /** The same for programs that show HTML. */
  readonly html?: string | undefined
  /** Ends a subscription: shown as a button by programs for mail (RFC 2369), at once if it is https (RFC 8058). */
  readonly unsubscribeUrl?: string | undefined
  /** A file. The caller destroys its content. */
  readonly attachment?:
    | { readonly filename: string; readonly contentType: string; readonly content: Readable }
    | undefined
}

/** For each step of a conversation. */
const SMTP_MS = 15_000
/** For a mail as a whole: a server may be slow on purpose. */
const MAIL_MS = 60_000

/** Sends e-mail over SMTP. Loads its package with the first one. */
export class Mailer {
  readonly #options: MailerOptions
  #transport: Transporter | undefined

  constructor(options: MailerOptions) {
    this.#options = options
  }

  /**
   * Resolves with the answer of the server when it has accepted the mail.
   * @param signal ends the attempt, with its connection
   */
  async send(mail: Mail, signal: AbortSignal): Promise<string> {
    const { id, to, subject, text, html, unsubscribeUrl, attachment } = mail
    const { createTransport } = await import('nodemailer')
    this.#transport ??= createTransport(this.#settings())
    const { from } = this.#options
    const host = from.slice(from.lastIndexOf('@') + 1).replace(/[^\w.-]/g, '')
    const limit = timeLimit(MAIL_MS, signal)
    try {
      const sent = await this.#transport.sendMail({
        ...{ from, subject, text, html },
        ...(attachment && { attachments: [attachment] }),
        // Not a list: an address with a comma in it is one address.
        to: { name: '', address: to },
        messageId: `<${id}@${host}>`,
        headers: { 'Auto-Submitted': 'auto-generated', ...(unsubscribeUrl && listHeaders(unsubscribeUrl)) },
        signal: limit,
      })
      return String((sent as { response?: string }).response ?? '')
    } catch (error) {
      if (limit.aborted && !signal.aborted)
        throw new Error(`the mail server did not take it within ${MAIL_MS / 1_000} s`, { cause: error })
      throw error
    }
  }

  #settings() {
    const times = { connectionTimeout: SMTP_MS, greetingTimeout: SMTP_MS, socketTimeout: SMTP_MS, dnsTimeout: SMTP_MS }
    return { url: this.#options.url, ...times, disableFileAccess: true, disableUrlAccess: true }
  }
}

function listHeaders(url: string): Readonly<Record<string, string>> {
  const isOneClick = url.startsWith('https:')
  return {
    'List-Unsubscribe': `<${url}>`,
    ...(isOneClick && { 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' }),
  }
}
