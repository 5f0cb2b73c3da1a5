import type { ErrorBody } from '../../../../schemas/api/error.ts'
import { TEXTS } from '../texts/texts.ts'

const texts = TEXTS.lib.api

/** A failed call, with the reason that the server gave. */
export class ApiError extends Error {
  override name = 'ApiError'
  /** 0: the server did not answer. */
  readonly status: number
  /** The field of a form that is wrong; undefined: the message is about all of it. */
  readonly field: string | undefined

  constructor(status: number, message: string, field?: string) {
    super(message)
    this.status = status
    this.field = field
  }
}

/** Parameters of a query. Omits undefined and `''`. */
export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>

let csrfToken = ''

/** CSRF token of the session, sent with every change. */
export function setCsrfToken(token: string): void {
  csrfToken = token
}

/** @throws ApiError */
export function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  return call<T>(`${path}${queryText(query)}`, { signal })
}

/** @throws ApiError */
export function post<T>(path: string, body: unknown = {}, signal?: AbortSignal): Promise<T> {
  const headers = { 'content-type': 'application/json', 'x-csrf-token': csrfToken }
  return call<T>(path, { method: 'POST', headers, body: JSON.stringify(body), signal })
}

/** Like `post`, for an answer that the browser saves as a file, with the name that the server gives. @throws ApiError */
export async function download(path: string, body: unknown): Promise<void> {
  const headers = { 'content-type': 'application/json', 'x-csrf-token': csrfToken }
  const response = await answerOf(path, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!response.ok) throw await errorOf(response)
  const link = document.createElement('a')
  link.href = URL.createObjectURL(await response.blob())
  link.download = /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '')?.[1] ?? ''
  link.click()
  URL.revokeObjectURL(link.href)
}

/** Like `post`, with raw bytes. @throws ApiError */
export function postBytes<T>(path: string, body: Blob, signal?: AbortSignal): Promise<T> {
  return call<T>(path, { method: 'POST', headers: changeHeaders(), body, signal })
}

/** Headers for changes that do not use `post`. */
export function changeHeaders(): Record<string, string> {
  return { 'x-csrf-token': csrfToken }
}

export function queryText(query: Query): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    for (const item of Array.isArray(value) ? value : [value]) {
      if (item !== undefined && item !== '') parameters.append(name, String(item))
    }
  }
  const text = parameters.toString()
  return text === '' ? '' : `?${text}`
}

async function call<T>(path: string, init: RequestInit): Promise<T> {
  const response = await answerOf(path, init)
  if (response.status === 204) return undefined as T
  if (!response.ok) throw await errorOf(response)
  return (await response.json().catch(() => undefined)) as T
}

async function answerOf(path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(path, { ...init, credentials: 'same-origin' })
  } catch (error) {
    if ((error as Error).name === 'AbortError') throw error
    throw new ApiError(0, texts.unreachable)
  }
}

async function errorOf(response: Response): Promise<ApiError> {
  const answer = (await response.json().catch(() => undefined)) as Partial<ErrorBody> | undefined
  const { detail = texts.answered(response.status), errors } = answer ?? {}
  return new ApiError(response.status, detail, errors?.[0]?.path)
}
