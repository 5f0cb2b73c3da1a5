import { setTimeout as sleep } from 'node:timers/promises'

interface SharedReadOptions {
  /** How long an answer serves later calls, milliseconds. */
  readonly freshMs: number
  /** How long a call waits for a read, milliseconds. */
  readonly lateMs: number
}

/**
 * Shares one read among all calls that need it. Calls that come too early for a late answer get the previous answer, or
 * reject when there is none; the late answer serves the calls after it. A failure is not kept: the next call reads again.
 */
export function sharedRead<T>(read: () => Promise<T>, { freshMs, lateMs }: SharedReadOptions): () => Promise<T> {
  let answer: { readonly value: T; readonly atMs: number } | undefined
  let reading: Promise<T> | undefined
  const readNow = async () => {
    try {
      const value = await read()
      answer = { value, atMs: performance.now() }
      return value
    } finally {
      reading = undefined
    }
  }
  return async () => {
    if (answer !== undefined && performance.now() - answer.atMs < freshMs) return answer.value
    reading ??= readNow()
    const answered = new AbortController()
    const late = sleep(lateMs, undefined, { signal: answered.signal }).then(() => {
      if (answer === undefined) throw new Error('no answer in time')
      return answer.value
    })
    late.catch(() => {})
    return await Promise.race([reading, late]).finally(() => answered.abort())
  }
}
