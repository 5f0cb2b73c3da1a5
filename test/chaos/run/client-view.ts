import { percentile } from '../../../bench/support/load.ts'

/** Reasons of a connection that ended after it was open. */
const RESET = /ECONNRESET|EPIPE|UND_ERR_SOCKET|other side closed|socket hang up/

/** Answers to clients while one kind of fault lasted. */
export interface Seen {
  /** Milliseconds from the first try of a request to its 200 or 202, ascending. */
  readonly waitsMs: readonly number[]
  /** Answers, and reasons for none, of all tries. */
  readonly answers: ReadonlyMap<string, number>
}

/** Answers to the clients of a service, by the fault that lasted when they first sent a request. */
export class ClientView {
  readonly #byFault = new Map<string, { waitsMs: number[]; answers: Map<string, number> }>()
  #fault = ''

  constructor(fault = NO_FAULT) {
    this.during(fault)
  }

  /** Requests from now on belong to this kind. */
  during(fault: string): void {
    this.#fault = fault
    if (!this.#byFault.has(fault)) this.#byFault.set(fault, { waitsMs: [], answers: new Map() })
  }

  open(): RequestView {
    const { waitsMs, answers } = this.#byFault.get(this.#fault)!
    const sentMs = performance.now()
    return {
      tried: (answer, path) => {
        const name = nameOf(answer, path)
        answers.set(name, (answers.get(name) ?? 0) + 1)
      },
      accepted: () => void waitsMs.push(performance.now() - sentMs),
    }
  }

  get faults(): string[] {
    return [...this.#byFault.keys()]
  }

  /** @param faults default: all */
  seen(faults: readonly string[] = this.faults): Seen {
    const waitsMs: number[] = []
    const answers = new Map<string, number>()
    for (const fault of faults) {
      const of = this.#byFault.get(fault)
      waitsMs.push(...(of?.waitsMs ?? []))
      for (const [name, count] of of?.answers ?? []) answers.set(name, (answers.get(name) ?? 0) + count)
    }
    return { waitsMs: waitsMs.sort((a, b) => a - b), answers }
  }
}

/** Before and between faults. */
export const NO_FAULT = 'none'

/** One request, and its repeats. */
export interface RequestView {
  tried(answer: number | Error, path: string): void
  accepted(): void
}

/** The connection was refused, so nothing was sent. */
export function isRefused(error: Error): boolean {
  return (error.cause as NodeJS.ErrnoException | undefined)?.code === 'ECONNREFUSED'
}

/** A status, `refused`, `reset`, `no answer` in time, `too many jobs`, or the text of another error. */
function nameOf(answer: number | Error, path: string): string {
  // An upload waits for a place among the tenant's jobs, with and without a fault.
  if (answer === 429 && path === '/v1/ingest/batch') return 'too many jobs'
  if (typeof answer === 'number') return String(answer)
  if (isRefused(answer)) return 'refused'
  if (answer.name === 'TimeoutError') return 'no answer'
  const { cause } = answer
  const text = `${answer.message} ${cause instanceof Error ? `${(cause as NodeJS.ErrnoException).code} ${cause.message}` : ''}`
  return RESET.test(text) ? 'reset' : text
}

/** A row of the table: answers to clients while a kind of fault lasted. */
export interface ClientRow {
  readonly fault: string
  readonly answers: Readonly<Record<string, number>>
  /** Milliseconds from the first try of a request until it was accepted. */
  readonly waitMs: { readonly p50: number; readonly p99: number; readonly longest: number }
}

export function clientRows(view: ClientView): ClientRow[] {
  return view.faults.map((fault) => {
    const { waitsMs, answers } = view.seen([fault])
    const at = (share: number) => Math.round(percentile(waitsMs, share))
    return { fault, answers: Object.fromEntries(answers), waitMs: { p50: at(0.5), p99: at(0.99), longest: at(1) } }
  })
}
