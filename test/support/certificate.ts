import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { createServer } from 'node:tls'
import { promisify } from 'node:util'
import { takePort } from './ports.ts'

const run = promisify(execFile)
const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']

/** Files in PEM form. */
interface CertificateFiles {
  readonly key: string
  /** It is its own certificate authority. */
  readonly certificate: string
}

/** Makes a certificate for 127.0.0.1, localhost and other names. @param dir of the files */
export async function selfSigned(dir: string, names: readonly string[] = []): Promise<CertificateFiles> {
  const [key, certificate] = [join(dir, 'key.pem'), join(dir, 'certificate.pem')]
  const all = ['IP:127.0.0.1', ...['localhost', ...names].map((name) => `DNS:${name}`)]
  const subject = ['-subj', '/CN=localhost', '-addext', `subjectAltName=${all.join()}`]
  const form = ['req', '-x509', ...NEW_KEY, '-days', '2']
  await run('openssl', [...form, '-keyout', key, '-out', certificate, ...subject])
  return { key, certificate }
}

/** A certificate authority of one's own. */
interface Authority {
  /** Its certificate, for `NODE_EXTRA_CA_CERTS`. */
  readonly file: string
  /** Makes a certificate. @param days of validity from now; less than 0: it has expired */
  issue(label: string, names: readonly string[], days?: number): Promise<CertificateFiles>
}

/** Makes an authority. @param dir of the files */
export async function makeAuthority(dir: string, name: string): Promise<Authority> {
  const [key, file] = [join(dir, `${name}.key`), join(dir, `${name}.pem`)]
  await run('openssl', ['req', '-x509', ...NEW_KEY, '-days', '2', '-keyout', key, '-out', file, '-subj', `/CN=${name}`])
  return {
    file,
    async issue(label, names, days = 2) {
      const of = (kind: string) => join(dir, `${name}-${label}.${kind}`)
      const alternatives = ['-addext', `subjectAltName=${names.map((one) => `DNS:${one}`).join()}`]
      const asked = ['-keyout', of('key'), '-out', of('csr'), '-subj', `/CN=${label}`, ...alternatives]
      await run('openssl', ['req', ...NEW_KEY, ...asked])
      const signed = ['-CA', file, '-CAkey', key, '-days', String(days), '-copy_extensions', 'copy']
      await run('openssl', ['x509', '-req', '-in', of('csr'), '-out', of('pem'), ...signed])
      return { key: of('key'), certificate: of('pem') }
    },
  }
}

/** Speaks TLS on a port of 127.0.0.1, and passes the bytes on to a server without TLS. @returns the port */
export async function startTls(t: TestContext, { key, certificate }: CertificateFiles, to: number): Promise<number> {
  const port = takePort()
  const server = createServer({ key: readFileSync(key), cert: readFileSync(certificate) }, (secure) => {
    const plain = connect(to, '127.0.0.1')
    for (const socket of [secure, plain]) socket.on('error', () => void [secure.destroy(), plain.destroy()])
    secure.pipe(plain).pipe(secure)
  })
  // A client that refuses the certificate ends the handshake.
  server.on('tlsClientError', () => {})
  const open = new Set<{ destroy(): unknown }>()
  server.on('connection', (socket) => {
    open.add(socket)
    socket.on('close', () => open.delete(socket))
  })
  await new Promise<void>((resolve) => void server.listen(port, '127.0.0.1', resolve))
  t.after(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  return port
}
