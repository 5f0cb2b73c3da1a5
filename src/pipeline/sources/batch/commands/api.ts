import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { BatchAccepted, BatchJob, BatchJobList } from '../../../../../schemas/api/batch.ts'
import type { Config } from '../../../../config/config.ts'
import { cutText } from '../../../../run/cut-text.ts'
import { InputError, StartupError } from '../../../../run/errors.ts'
import type { CliContext } from '../../../../terminal/context.ts'
import { apiBaseOf } from '../../../../terminal/instance.ts'
import { askSecret } from '../../../../terminal/secret.ts'

/** A client of the API's batch operations. */
export interface BatchApi {
  /** @param gzip whether the body is already gzip */
  upload(body: Readable, gzip: boolean): Promise<BatchAccepted>
  job(jobId: string): Promise<BatchJob>
  /** Newest first. @param before lists only jobs after this one */
  list(limit: number, before: string | undefined): Promise<BatchJobList>
  cancel(jobId: string): Promise<BatchJob>
}

/** @throws InputError without a key; StartupError when no instance is running */
export async function apiAccess(
  config: Config,
  context: CliContext,
  options: { readonly apiKey?: string; readonly url?: string },
): Promise<BatchApi> {
  const key = options.apiKey || context.env.IPID_API_KEY || (await askSecret('API key: ', context))
  if (key === undefined || key === '') throw new InputError('an API key is needed: set IPID_API_KEY')
  const base = await apiBaseOf(options.url, config)
  const send = (method: string, path: string, body?: Readable, gzip = false) =>
    call(base, key, method, path, body, gzip)
  return {
    upload: async (body, gzip) => (await send('POST', '/v1/ingest/batch', body, gzip)) as BatchAccepted,
    job: async (jobId) => (await send('GET', `/v1/ingest/batch/${encodeURIComponent(jobId)}`)) as BatchJob,
    async list(limit, before) {
      const query = new URLSearchParams({ limit: String(limit), ...(before !== undefined && { before }) })
      return (await send('GET', `/v1/ingest/batch?${query}`)) as BatchJobList
    },
    cancel: async (jobId) => (await send('POST', `/v1/ingest/batch/${encodeURIComponent(jobId)}/cancel`)) as BatchJob,
  }
}

async function call(
  base: string,
  key: string,
  method: string,
  path: string,
  body: Readable | undefined,
  gzip: boolean,
): Promise<unknown> {
  const url = new URL(path, base)
  const headers: Record<string, string> = { 'x-api-key': key }
  if (body !== undefined) headers['content-type'] = 'application/x-ndjson'
  if (gzip) headers['content-encoding'] = 'gzip'
  const open = url.protocol === 'https:' ? httpsRequest : httpRequest
  const request = open(url, { method, headers })
  const answered = new Promise<{ status: number; text: string }>((resolve, reject) => {
    request.on('error', reject)
    request.on('response', (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (data: string) => {
        text += data
      })
      response.on('end', () => resolve({ status: response.statusCode!, text }))
      response.on('error', reject)
    })
  })
  let unreadable: Error | undefined
  body?.once('error', (error) => {
    unreadable = error
  })
  const sent = body === undefined ? Promise.resolve(void request.end()) : pipeline(body, request)
  // The API may answer before it has read the whole body. That answer is the result, not the broken connection.
  const failed = sent.then(
    () => answered,
    (error: unknown) => Promise.race([answered, later(error)]),
  )
  const { status, text } = await Promise.race([answered, failed]).catch((error: Error) => {
    // An unreadable body breaks the connection too; report the cause.
    if (unreadable !== undefined) throw unreadable
    throw new StartupError(`cannot reach ${base}: ${error.message || (error as NodeJS.ErrnoException).code}`)
  })
  if (status >= 200 && status < 300) return JSON.parse(text)
  throw new StartupError(`${url.pathname} answered ${status}: ${detailOf(text)}`)
}

const ANSWER_AFTER_FAILURE_MS = 1_000

function later(error: unknown): Promise<never> {
  return new Promise((_, reject) => setTimeout(() => reject(error), ANSWER_AFTER_FAILURE_MS))
}

function detailOf(text: string): string {
  try {
    return String((JSON.parse(text) as { detail: unknown }).detail)
  } catch {
    return cutText(text, 200)
  }
}
