import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { ArrivedRequest } from '../engine/engine.ts'
import type { HttpResponse } from '../engine/response.ts'

/** A body that stays the same while the process runs, with its compressed form. */
export interface FixedContent {
  readonly type: string
  readonly plain: Buffer
  readonly gzip: Buffer
  /** Entity tag (RFC 9110 section 8.8.3). Weak, because both forms have it. */
  readonly etag: string
}

export async function fixedContent(type: string, plain: Buffer): Promise<FixedContent> {
  const digest = createHash('sha256').update(plain).digest('base64url').slice(0, 22)
  return { type, plain, gzip: await promisify(gzip)(plain), etag: `W/"${digest}"` }
}

/** Sends it as the client takes it, or 304 when the client has it. A client keeps it, and asks each time whether it has changed. */
export function sendFixed(
  { type, plain, gzip, etag }: FixedContent,
  { head: { acceptEncoding, ifNoneMatch } }: ArrivedRequest,
  further: Readonly<Record<string, string>> = {},
): HttpResponse {
  const headers = { ...further, etag, 'cache-control': 'no-cache', vary: 'accept-encoding' }
  if (ifNoneMatch.split(',').some((tag) => tag.trim() === etag)) return { status: 304, body: '', headers }
  const isZipped = /\bgzip\b/.test(acceptEncoding)
  if (!isZipped) return { status: 200, type, headers, body: plain }
  return { status: 200, type, headers: { ...headers, 'content-encoding': 'gzip' }, body: gzip }
}
