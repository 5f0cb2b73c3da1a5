import type { BatchSummary } from '../../../schemas/api/batch.ts'
import { eventOf, numberOf } from './events.ts'

/** Events that were sent in one request or upload, and are not sent again. */
export interface Group {
  readonly keys: readonly string[]
  /** Whether it was answered with success; otherwise its result is unknown: all of it is stored, or nothing. */
  answered: boolean
}

/** An upload that was answered with 202. */
export interface AnsweredJob {
  readonly id: string
  readonly expected: Omit<BatchSummary, 'errors' | 'warning'>
}

/** How many events of a kind were received: at least those of answered requests, at most those of all attempts. */
export interface Received {
  answered: number
  attempted: number
}

export type ReceivedKind = 'all' | 'filtered' | 'invalid_ip'

/** The events that a tenant sent, and their answers: the tables are compared with it. */
export class Ledger {
  readonly tenantId: string
  readonly apiKey: string
  /** Key of a source of kind `http`. */
  readonly sourceKey: string
  /** Requests to the source that it accepted, or refused for their content. */
  sourceAnswers = 0
  /** Keys of events that are sent until they are answered with success: each is stored once. */
  readonly sure: string[] = []
  readonly groups: Group[] = []
  readonly jobs: AnsweredJob[] = []
  readonly received: Readonly<Record<ReceivedKind, Received>> = {
    all: { answered: 0, attempted: 0 },
    filtered: { answered: 0, attempted: 0 },
    invalid_ip: { answered: 0, attempted: 0 },
  }

  constructor(tenantId: string, apiKey: string, sourceKey: string) {
    this.tenantId = tenantId
    this.apiKey = apiKey
    this.sourceKey = sourceKey
  }

  attempt(keys: readonly string[]): void {
    this.#count(keys, 'attempted')
  }

  answered(keys: readonly string[]): void {
    this.#count(keys, 'answered')
  }

  #count(keys: readonly string[], which: keyof Received): void {
    this.received.all[which] += keys.length
    for (const key of keys) {
      const { fate } = eventOf(numberOf(key))
      if (fate !== 'stored') this.received[fate][which]++
    }
  }
}
