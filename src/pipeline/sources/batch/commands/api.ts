import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
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
  upload(body: Readable, gzip: boolean, label?: string): Promise<BatchAccepted>
  job(jobId: string): Promise<BatchJob>
  /** The rejected lines of a job. */
  rejected(jobId: string): Promise<RejectedAnswer>
  /** Newest first. */
  list(page: ListPage): Promise<BatchJobList>
  cancel(jobId: string): Promise<BatchJob>
}

export interface ListPage {
  readonly limit: number
  /** Lists only jobs after this one. */
  readonly before?: string | undefined
  readonly status?: string | undefined
  readonly label?: string | undefined
}

export interface RejectedAnswer {
  readonly lines: number
  /** See `rejected_lines` of `BatchJob`. */
  readonly complete: boolean
  /** NDJSON. Fails when the answer breaks off. */
  readonly body: Readable
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
    async upload(body, gzip, label) {
      const query = label === undefined ? '' : `?${new URLSearchParams({ label })}`
      return (await send('POST', `/v1/ingest/batch${query}`, body, gzip)) as BatchAccepted
    },
    async rejected(jobId) {
      const { headers, body } = await streamOf(base, key, `/v1/ingest/batch/${encodeURIComponent(jobId)}/rejected`)
      return { lines: Number(headers['x-rejected-lines']), complete: headers['x-rejected-complete'] === 'true', body }
    },
    job: async (jobId) => (await send('GET', `/v1/ingest/batch/${encodeURIComponent(jobId)}`)) as BatchJob,
    async list(page) {
      const query = new URLSearchParams()
      for (const [name, value] of Object.entries(page)) if (value !== undefined) query.set(name, String(value))
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
  const answered = new Promise<{ status: number; answer: string }>((resolve, reject) => {
    request.on('error', reject)
    request.on('response', (response) => {
      text(response).then((answer) => resolve({ status: response.statusCode!, answer }), reject)
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
  const { status, answer } = await Promise.race([answered, failed]).catch((error: Error) => {
    // An unreadable body breaks the connection too; report the cause.
    if (unreadable !== undefined) throw unreadable
    throw new StartupError(`cannot reach ${base}: ${error.message || (error as NodeJS.ErrnoException).code}`)
  })
  if (status >= 200 && status < 300) return JSON.parse(answer)
  throw new StartupError(`${url.pathname} answered ${status}: ${detailOf(answer)}`)
}

/** An answer whose body is read as it comes. @throws StartupError */
async function streamOf(
  base: string,
  key: string,
  path: string,
): Promise<{ headers: IncomingHttpHeaders; body: Readable }> {
  const url = new URL(path, base)
  const open = url.protocol === 'https:' ? httpsRequest : httpRequest
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    open(url, { headers: { 'x-api-key': key } })
      .on('response', resolve)
      .on('error', (error: NodeJS.ErrnoException) =>
        reject(new StartupError(`cannot reach ${base}: ${error.message || error.code}`)),
      )
      .end()
  })
  if (response.statusCode === 200) return { headers: response.headers, body: response }
  throw new StartupError(`${url.pathname} answered ${response.statusCode}: ${detailOf(await text(response))}`)
}

const ANSWER_AFTER_FAILURE_MS = 1_000

function later(error: unknown): Promise<never> {
  return new Promise((_, reject) => setTimeout(() => reject(error), ANSWER_AFTER_FAILURE_MS))
}

function detailOf(answer: string): string {
  try {
    return String((JSON.parse(answer) as { detail: unknown }).detail)
  } catch {
    return cutText(answer, 200)
  }
}
