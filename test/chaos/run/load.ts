import { setTimeout as sleep } from 'node:timers/promises'
import type { BatchAccepted } from '../../../schemas/api/batch.ts'
import type { Random } from '../../../src/run/random.ts'
import { type ClientView, isRefused, type RequestView } from './client-view.ts'
import { bodyOf, eventOf } from './events.ts'
import type { Ledger } from './ledger.ts'

export interface LoadOptions {
  /** Base URLs of the API. A request goes to the first, and to the next one when that does not answer. */
  readonly urls: () => readonly string[]
  readonly ledger: Ledger
  readonly random: Random
  /** Requests per second, of `PER_REQUEST` events. */
  readonly rate: number
  /** Number of the first event of each kind, for a second load of a ledger. A multiple of `UPLOAD_LINES`. Default: 0. */
  readonly first?: number
  readonly view?: ClientView
}

const PER_REQUEST = 20
/** Part of the requests that a source sends. */
const SOURCE_SHARE = 0.3
export const UPLOAD_LINES = 2_000
const ANSWER_WITHIN_MS = 10_000
const AGAIN_MS = 100
const NEXT_UPLOAD_MS = 2_000

/** Sends until it is stopped, and then until everything that must be answered is. */
export class Load {
  readonly #options: LoadOptions
  #stopped = false
  #abandoned = false
  #live = 0
  #uploads = 0

  constructor(options: LoadOptions) {
    this.#options = options
  }

  stop(): void {
    this.#stopped = true
  }

  /** Stops, and gives up unanswered requests: nothing answers any more. */
  abandon(): void {
    this.#stopped = true
    this.#abandoned = true
  }

  /**
   * Live events: most with ids, sent until they are answered; some again later; some without ids, sent once. Some of those with ids
   * come from a source, so a repeat may take another way than the first try.
   */
  async sendLive(): Promise<void> {
    const { ledger, random, rate } = this.#options
    const answered: string[][] = []
    for (let dueMs = performance.now(); !this.#stopped; dueMs += 1_000 / rate) {
      await sleep(Math.max(0, dueMs - performance.now()))
      const kind = random.next()
      if (kind < 0.1) {
        await this.#sendOnce(this.#keys('made'))
      } else if (kind < 0.2 && answered.length > 0) {
        await this.#sendUntilAnswered(random.pick(answered))
      } else {
        const keys = this.#keys('live')
        for (const key of keys) ledger.sure.push(key)
        await this.#sendUntilAnswered(keys)
        if (answered.length < 1_000) answered.push(keys)
      }
    }
  }

  /** Uploads, one after the other. */
  async upload(): Promise<void> {
    const { ledger, view } = this.#options
    while (!this.#stopped) {
      const first = (this.#options.first ?? 0) + this.#uploads++ * UPLOAD_LINES
      const keys = Array.from({ length: UPLOAD_LINES }, (_, i) => `batch-${first + i}`)
      const lines = keys.map((key) => JSON.stringify(bodyOf(key, true)))
      const group = { keys, answered: false }
      ledger.groups.push(group)
      const body = lines.join('\n')
      const answer = await this.#try('/v1/ingest/batch', { keys, body, mayRepeat: false, request: view?.open() })
      if (answer?.status === 202) {
        group.answered = true
        ledger.answered(keys)
        const { job_id: id } = JSON.parse(answer.text) as BatchAccepted
        ledger.jobs.push({ id, expected: summaryOf(first) })
      }
      await sleep(answer?.status === 202 ? NEXT_UPLOAD_MS : AGAIN_MS)
    }
  }

  #keys(kind: string): string[] {
    const first = (this.#options.first ?? 0) + this.#live++ * PER_REQUEST
    return Array.from({ length: PER_REQUEST }, (_, i) => `${kind}-${first + i}`)
  }

  async #sendOnce(keys: string[]): Promise<void> {
    const { ledger, view } = this.#options
    const group = { keys, answered: false }
    ledger.groups.push(group)
    group.answered = await this.#send(keys, false, view?.open())
  }

  async #sendUntilAnswered(keys: string[]): Promise<void> {
    const request = this.#options.view?.open()
    while (!this.#abandoned && !(await this.#send(keys, true, request))) await sleep(AGAIN_MS)
  }

  async #send(keys: readonly string[], withIds: boolean, request: RequestView | undefined): Promise<boolean> {
    const { ledger, random } = this.#options
    const events = keys.map((key) => bodyOf(key, withIds))
    const isOfSource = withIds && random.next() < SOURCE_SHARE
    const path = isOfSource ? `/s/http/${ledger.sourceKey}` : '/v1/ingest'
    const body = JSON.stringify(isOfSource ? events : { events })
    const answer = await this.#try(path, { keys, body, mayRepeat: withIds, request })
    // 429 and 5xx are answers of a fault.
    if (isOfSource && answer !== undefined && answer.status < 429) ledger.sourceAnswers++
    if (answer?.status !== 200) return false
    ledger.answered(keys)
    return true
  }

  /**
   * As a load balancer does: sends to the next one what one refused; and what one took without an answer, if it may be repeated.
   */
  async #try(path: string, { keys, body, mayRepeat, request }: Sending): Promise<Answer | undefined> {
    const { urls, ledger } = this.#options
    // The key of a source is in its path.
    const key: Record<string, string> = path.startsWith('/s/') ? {} : { 'x-api-key': ledger.apiKey }
    for (const url of urls()) {
      ledger.attempt(keys)
      const answer = await post(url + path, key, body)
      request?.tried(answer instanceof Error ? answer : answer.status, path)
      if (!(answer instanceof Error)) {
        if (answer.status < 300) request?.accepted()
        return answer
      }
      if (!mayRepeat && !isRefused(answer)) return undefined
    }
    return undefined
  }
}

interface Sending {
  /** Ids of the events. */
  readonly keys: readonly string[]
  readonly body: string
  readonly mayRepeat: boolean
  readonly request: RequestView | undefined
}

export interface Answer {
  readonly status: number
  readonly text: string
}

/** An error when there is no complete answer. */
export async function post(url: string, key: Readonly<Record<string, string>>, body: string): Promise<Answer | Error> {
  try {
    const headers = { ...key, 'content-type': 'application/json' }
    const signal = AbortSignal.timeout(ANSWER_WITHIN_MS)
    const answer = await fetch(url, { method: 'POST', headers, body, signal })
    return { status: answer.status, text: await answer.text() }
  } catch (error) {
    return error as Error
  }
}

/** The summary of an upload of events with consecutive numbers. */
export function summaryOf(first: number, lines = UPLOAD_LINES) {
  const fates = Array.from({ length: lines }, (_, i) => eventOf(first + i).fate)
  const filtered = fates.filter((fate) => fate === 'filtered').length
  const invalid = fates.filter((fate) => fate === 'invalid_ip').length
  return {
    processed: lines,
    valid_ips: lines - invalid,
    identified_ips: lines - invalid - filtered,
    rejected: 0,
    filtered,
    invalid_ip: invalid,
    duplicates: 0,
  }
}
