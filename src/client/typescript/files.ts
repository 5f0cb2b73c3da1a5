import { randomUUID } from 'node:crypto'
import { open } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Readable } from 'node:stream'
import type { Request } from './transport.ts'
import type { UploadOptions } from './types.ts'

/**
 * The request that uploads a file, which is read while it is sent. A name with `.gz` is sent compressed, as it is. All attempts have one key, so
 * the file becomes one job.
 */
export function uploadOf(file: string, options: UploadOptions): Request {
  const name = basename(file).toLowerCase()
  const isGzip = name.endsWith('.gz')
  const isCsv = (isGzip ? name.slice(0, -3) : name).endsWith('.csv')
  const { contentType = isCsv ? 'text/csv' : 'application/x-ndjson', map = {}, dateOrder, label } = options
  const { idempotencyKey = randomUUID() } = options
  const query = queryOf({
    map: Object.entries(map).map(([column, key]) => `${column}=${key}`),
    date_order: dateOrder,
    label,
  })
  return {
    method: 'POST',
    path: `/v1/ingest/batch${query}`,
    headers: {
      'content-type': contentType,
      'idempotency-key': idempotencyKey,
      ...(isGzip && { 'content-encoding': 'gzip' }),
    },
    body: () => openFile(file),
    repeats: 'always',
  }
}

/** @throws the error of the system when the file cannot be opened */
async function openFile(file: string): Promise<Readable> {
  const handle = await open(file)
  if (!(await handle.stat()).isDirectory()) return handle.createReadStream()
  await handle.close()
  throw new TypeError(`${file} is a directory`)
}

/** The query of a path, with its question mark; '' when it has no value. Lists are repeated. */
export function queryOf(values: Readonly<Record<string, QueryValue | readonly QueryValue[]>>): string {
  const parts = Object.entries(values).flatMap(([name, value]) =>
    [value]
      .flat()
      .filter((one) => one !== undefined)
      .map((one) => `${encodeURIComponent(name)}=${encodeURIComponent(one)}`),
  )
  return parts.length === 0 ? '' : `?${parts.join('&')}`
}

type QueryValue = string | number | undefined
