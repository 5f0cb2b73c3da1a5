import type { Transporter } from 'nodemailer'

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
}

const SMTP_MS = 15_000

/** Sends e-mail over SMTP. Loads its package with the first one. */
export class Mailer {
  readonly #options: MailerOptions
  #transport: Promise<Transporter> | undefined

  constructor(options: MailerOptions) {
    this.#options = options
  }

  /** Resolves with the answer of the server when it has accepted the mail. */
  async send({ id, to, subject, text }: Mail): Promise<string> {
    this.#transport ??= this.#connect()
    const { from } = this.#options
    const host = from.slice(from.lastIndexOf('@') + 1).replace(/[^\w.-]/g, '')
    const sent = await (await this.#transport).sendMail({
      ...{ from, subject, text },
      // Not a list: an address with a comma in it is one address.
      to: { name: '', address: to },
      messageId: `<${id}@${host}>`,
      headers: { 'Auto-Submitted': 'auto-generated' },
    })
    return String((sent as { response?: string }).response ?? '')
  }

  async #connect(): Promise<Transporter> {
    const { createTransport } = await import('nodemailer')
    const times = { connectionTimeout: SMTP_MS, greetingTimeout: SMTP_MS, socketTimeout: SMTP_MS, dnsTimeout: SMTP_MS }
    return createTransport({ url: this.#options.url, ...times, disableFileAccess: true, disableUrlAccess: true })
  }
}
