import { wrappedIn } from './wrapped-error.ts'

/** Why a TLS handshake failed, and what mends it. */
export interface TlsProblem {
  readonly reason: string
  readonly remedy: string
}

interface TlsError {
  readonly code?: unknown
  readonly host?: unknown
  readonly cert?: { readonly subjectaltname?: unknown; readonly subject?: { readonly CN?: unknown } }
}

/** Codes of OpenSSL for a chain that ends at no known authority. */
const UNKNOWN_AUTHORITY: ReadonlySet<unknown> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_SIGNATURE_FAILURE',
])

/**
 * @param setting the one with the address of the server; the remedy names it
 * @returns undefined when the error, and what it wraps, is of something else
 */
export function tlsProblemOf(error: unknown, setting?: string): TlsProblem | undefined {
  const found = problemOf(error)
  if (found === undefined || setting === undefined) return found
  return { ...found, remedy: `${found.remedy} (${setting})` }
}

function problemOf(error: unknown): TlsProblem | undefined {
  if (!(error instanceof Error)) return undefined
  const { code, host, cert } = error as TlsError
  if (UNKNOWN_AUTHORITY.has(code)) {
    return {
      reason: "the authority of the server's certificate is not known here",
      remedy: 'set NODE_EXTRA_CA_CERTS to a PEM file with that authority, for each process and command',
    }
  }
  if (code === 'CERT_HAS_EXPIRED') {
    return {
      reason: 'the certificate of the server has expired',
      remedy: 'renew it on the server, or correct the clock of this machine',
    }
  }
  if (code === 'CERT_NOT_YET_VALID') {
    return {
      reason: 'the certificate of the server is not valid yet',
      remedy: 'correct the clock of this machine, or that of the authority',
    }
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return {
      reason: `the certificate of the server is for ${namesOf(cert)}, not for ${String(host)}`,
      remedy: 'use a name of the certificate in the address, or get a certificate for this name',
    }
  }
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER' || code === 'ERR_SSL_PACKET_LENGTH_TOO_LONG') {
    return {
      reason: 'the server does not speak TLS on this port',
      remedy: 'use its port for TLS, or redis:// or http://',
    }
  }
  return problemOf(wrappedIn(error))
}

/** `DNS:a.example, IP Address:10.0.0.1` → `a.example, 10.0.0.1` */
function namesOf(cert: TlsError['cert']): string {
  const names = String(cert?.subjectaltname ?? cert?.subject?.CN ?? 'another name')
  return names.replaceAll(/(?:DNS|IP Address):/g, '')
}
