import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** Files in PEM form. */
interface CertificateFiles {
  readonly key: string
  /** It is its own certificate authority. */
  readonly certificate: string
}

/** Makes a certificate for 127.0.0.1 and localhost. @param dir of the files */
export async function selfSigned(dir: string): Promise<CertificateFiles> {
  const [key, certificate] = [join(dir, 'key.pem'), join(dir, 'certificate.pem')]
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost']
  const form = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  await promisify(execFile)('openssl', [...form, '-keyout', key, '-out', certificate, ...subject])
  return { key, certificate }
}
