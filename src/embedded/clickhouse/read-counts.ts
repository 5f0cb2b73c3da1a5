import type { ChdbAddon, Connection } from './addon.ts'

/** Rows and bytes that a statement read. */
export interface ReadCounts {
  readonly rows: number
  readonly bytes: number
}

interface Sample extends ReadCounts {
  /** Number of event counters. The cost of a sample depends only on it. */
  readonly events: number
}

const EVENTS =
  "SELECT sumIf(value, event = 'SelectedRows'), sumIf(value, event = 'SelectedBytes'), count() FROM system.events"

const TRIES = 3

/** The measurement of one statement. */
export interface Measurement {
  /** The counts after the end of the statement; undefined if others ran at the same time. */
  read(): Promise<ReadCounts | undefined>
}

/**
 * Counts the rows and bytes that statements read. chdb does not report them, so this compares the counters of the whole
 * engine before and after. It works only for a statement that ran alone. A sample costs 2 ms per statement, and subtracts its
 * own reads.
 */
export class ReadCounter {
  /** The addon, wrapped to register all statements. */
  readonly addon: ChdbAddon
  readonly #addon: ChdbAddon
  readonly #connection: Connection
  /** Numbers of started and of running statements. */
  #begun = 0
  #running = 0
  #latest: { readonly sample: Sample; readonly begun: number } | undefined
  /** Reads of a sample itself, by the number of events. */
  readonly #costs = new Map<number, ReadCounts>()

  /** @param connection connection for the samples */
  constructor(addon: ChdbAddon, connection: Connection) {
    this.#addon = addon
    this.#connection = connection
    this.addon = {
      CreateConnection: (...args) => addon.CreateConnection(...args),
      CloseConnection: (...args) => addon.CloseConnection(...args),
      QueryAsyncConnection: (...args) => this.#notice(addon.QueryAsyncConnection(...args)),
      InsertRawAsyncConnection: (...args) => this.#notice(addon.InsertRawAsyncConnection(...args)),
    }
  }

  /** Call it right before the statement. */
  async begin(): Promise<Measurement> {
    const before = await this.#settled()
    const begun = this.#begun
    const isOnly = () => this.#running === 0 && this.#begun === begun + 1
    const read = async () => {
      if (before === undefined || !isOnly()) return undefined
      const after = await this.#look()
      if (!isOnly()) return undefined
      this.#latest = { sample: after, begun: this.#begun }
      const cost = this.#costs.get(before.events) ?? { rows: 0, bytes: 0 }
      return { rows: after.rows - before.rows - cost.rows, bytes: after.bytes - before.bytes - cost.bytes }
    }
    return { read }
  }

  #notice<T>(statement: Promise<T>): Promise<T> {
    this.#begun++
    this.#running++
    return statement.finally(() => this.#running--)
  }

  /** The counters while nothing runs, without the cost of the sample. */
  async #settled(): Promise<Sample | undefined> {
    const begun = this.#begun
    const isQuiet = () => this.#running === 0 && this.#begun === begun
    let sample: Sample | undefined = this.#latest?.begun === begun ? this.#latest.sample : undefined
    this.#latest = undefined
    for (let tries = 0; tries < TRIES; tries++) {
      if (!isQuiet()) return undefined
      sample ??= await this.#look()
      if (!isQuiet()) return undefined
      if (this.#costs.has(sample.events)) return sample
      const next = await this.#look()
      if (!isQuiet()) return undefined
      this.#costs.set(sample.events, { rows: next.rows - sample.rows, bytes: next.bytes - sample.bytes })
      sample = next
    }
    return undefined
  }

  async #look(): Promise<Sample> {
    const { bytes } = await this.#addon.QueryAsyncConnection(this.#connection, EVENTS, 'TSV')
    const [rows, rowBytes, events] = Buffer.from(bytes).toString().trim().split('\t').map(Number) as [
      number,
      number,
      number,
    ]
    return { rows, bytes: rowBytes, events }
  }
}
