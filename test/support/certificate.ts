import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

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
  const form = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  await promisify(execFile)('openssl', [...form, '-keyout', key, '-out', certificate, ...subject])
  return { key, certificate }
}
