import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { SMTPServer } from 'smtp-server'

/** A server of SMTP on loopback. */
export interface MailServer {
  readonly url: string
  /** Mails as they came. */
  readonly mails: string[]
  /** Answer to the next mails, with status 550; undefined: they are accepted. */
  refusal: string | undefined
}

/** @param at its port; default: a free one */
export async function startMailServer(t: { after(hook: () => Promise<void>): void }, at = 0): Promise<MailServer> {
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    async onData(stream, _session, answered) {
      // A client that is killed amid a mail has not sent it.
      const mail = await text(stream).catch(() => undefined)
      if (mail === undefined) return
      if (started.refusal !== undefined)
        return answered(Object.assign(new Error(started.refusal), { responseCode: 550 }))
      started.mails.push(mail)
      // Its type knows no text for an accepted mail.
      ;(answered as (error: null, answer: string) => void)(null, 'kept as 1')
    },
  })
  server.on('error', () => {})
  server.listen(at, '127.0.0.1')
  await once(server.server, 'listening')
  t.after(() => new Promise((closed) => server.close(closed)))
  const { port } = server.server.address() as AddressInfo
  const started: MailServer = { url: `smtp://127.0.0.1:${port}`, mails: [], refusal: undefined }
  return started
}

/** A part of a mail, or a mail without parts. */
function partOf(text: string) {
  const end = text.indexOf('\r\n\r\n')
  // RFC 5322: the white space after a folded line is part of the header.
  const head = text.slice(0, end).replace(/\r\n(?=[ \t])/g, '')
  const header = (name: string) => new RegExp(`^${name}:\\s*(.*?)\r?$`, 'im').exec(head)?.[1] ?? ''
  const body = text.slice(end + 4)
  const isQuoted = header('Content-Transfer-Encoding') === 'quoted-printable'
  const plain = isQuoted
    ? Buffer.from(
        body
          .replace(/=\r\n/g, '')
          .replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
        'latin1',
      ).toString('utf8')
    : body
  // RFC 3676: a line that ends with a space goes on in the next one.
  const isFlowed = header('Content-Type').includes('format=flowed')
  return { header, body, text: (isFlowed ? plain.replaceAll(' \r\n', ' ') : plain).replaceAll('\r\n', '\n').trim() }
}

/** A mail as a person reads it. */
export interface ReadMail {
  readonly from: string
  readonly to: string
  readonly subject: string
  readonly text: string
}

export function readMail(mail: string): ReadMail {
  const { header, text, body } = partOf(mail)
  const [, boundary] = /^multipart\/.*boundary="?([^";]+)/.exec(header('Content-Type')) ?? []
  const parts = boundary === undefined ? [] : body.split(`--${boundary}\r\n`).slice(1).map(partOf)
  const plain = parts.find((part) => part.header('Content-Type').startsWith('text/plain'))
  return { from: header('From'), to: header('To'), subject: header('Subject'), text: plain?.text ?? text }
}

/** A header of a mail, in one line; empty when there is none. */
export function headerOf(mail: string, name: string): string {
  return partOf(mail).header(name)
}
