import type { ChdbAddon, Connection } from './addon.ts'

/** Rows and bytes that a statement read. */
export interface ReadCounts {
  readonly rows: number
  readonly bytes: number
}

interface Sample extends ReadCounts {
  /** How many events there were: of the sample's own cost, all else is the same. */
  readonly events: number
}

const EVENTS =
  "SELECT sumIf(value, event = 'SelectedRows'), sumIf(value, event = 'SelectedBytes'), count() FROM system.events"

const TRIES = 3

/** One statement that is to be measured. */
export interface Measurement {
  /** What it read, when it has ended; undefined when others ran at the same time. */
  read(): Promise<ReadCounts | undefined>
}

/**
 * What statements read. chdb tells nobody, so it is the difference that one makes to the counters of the whole engine: known
 * of a statement that was alone, and of no other. To look costs 2 ms, once a statement, and is counted itself.
 */
export class ReadCounter {
  /** The engine, all of whose statements are noticed here. */
  readonly addon: ChdbAddon
  readonly #addon: ChdbAddon
  readonly #connection: Connection
  /** Statements that began, and that run. */
  #begun = 0
  #running = 0
  #latest: { readonly sample: Sample; readonly begun: number } | undefined
  /** What a look reads, by the number of events. */
  readonly #costs = new Map<number, ReadCounts>()

  /** @param connection on which it looks */
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

  /** To be called right before the statement that is measured. */
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

  /** The counters as they are while nothing runs, and what it will have cost to look. */
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
