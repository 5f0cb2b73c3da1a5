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

export async function startMailServer(t: { after(hook: () => Promise<void>): void }): Promise<MailServer> {
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    async onData(stream, _session, answered) {
      const mail = await text(stream)
      if (started.refusal !== undefined)
        return answered(Object.assign(new Error(started.refusal), { responseCode: 550 }))
      started.mails.push(mail)
      // Its type knows no text for an accepted mail.
      ;(answered as (error: null, answer: string) => void)(null, 'kept as 1')
    },
  })
  server.on('error', () => {})
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  t.after(() => new Promise((closed) => server.close(closed)))
  const { port } = server.server.address() as AddressInfo
  const started: MailServer = { url: `smtp://127.0.0.1:${port}`, mails: [], refusal: undefined }
  return started
}

/** A mail as a person reads it. */
export function readMail(mail: string): {
  readonly from: string
  readonly to: string
  readonly subject: string
  readonly text: string
} {
  const end = mail.indexOf('\r\n\r\n')
  const head = mail.slice(0, end).replace(/\r\n[ \t]+/g, ' ')
  const header = (name: string) => new RegExp(`^${name}: (.*)$`, 'im').exec(head)?.[1] ?? ''
  const body = mail.slice(end + 4)
  const isQuoted = header('Content-Transfer-Encoding') === 'quoted-printable'
  const plain = isQuoted
    ? Buffer.from(
        body
          .replace(/=\r\n/g, '')
          .replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
        'latin1',
      ).toString('utf8')
    : body
  return {
    from: header('From'),
    to: header('To'),
    subject: header('Subject'),
    text: plain.replaceAll('\r\n', '\n').trim(),
  }
}
