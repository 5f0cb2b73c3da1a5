import type { IpidOptions, VisitorEvent } from '../../../src/client/typescript/index.ts'

/** What a driver does: tracks events, and ends. */
export interface DriverTask {
  readonly key: string
  readonly url: string
  /** With the names of the TypeScript client. */
  readonly options: Partial<Omit<IpidOptions, 'key' | 'url' | 'fetch' | 'onDelivered' | 'onFailed'>>
  readonly events: readonly VisitorEvent[]
  /** Pauses for 20 ms after so many events; 0: never. */
  readonly pauseEvery: number
  /** `close`; `idle`: nothing is called; `exit`: `process.exit` or `sys.exit`. */
  readonly end: 'close' | 'idle' | 'exit'
  readonly closeMs: number
}

/** A line that a driver prints. */
export interface DriverLine {
  readonly taken?: boolean
  readonly delivered?: readonly string[]
  readonly failed?: FailedEnd
}

export interface FailedEnd {
  readonly id: string | undefined
  readonly code: string
  readonly mayBeStored: boolean
  readonly errors: readonly { readonly path: string; readonly message: string }[]
  /** All that a log would show of the error. */
  readonly text: string
}

/** Callbacks that say each end of an event as a line. */
export function endsOf(say: (line: DriverLine) => void): Pick<IpidOptions, 'onDelivered' | 'onFailed'> {
  return {
    onDelivered: (results) => say({ delivered: results.map(({ event_id: id }) => id) }),
    onFailed(failed) {
      for (const { event, error } of failed) {
        const { code, mayBeStored, errors } = error
        say({
          failed: { id: event.event_id, code, mayBeStored, errors, text: `${error.stack} ${JSON.stringify(error)}` },
        })
      }
    },
  }
}
