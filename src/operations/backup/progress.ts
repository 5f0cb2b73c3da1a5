import { numbered } from '../../run/counted.ts'
import type { OnLines } from './files.ts'

/** How often a table that takes long says how far it is. */
const EVERY_MS = 5_000

/** Tells somebody who waits what goes on, a line at a time. */
export class Progress {
  readonly #say: (line: string) => void

  constructor(say: (line: string) => void) {
    this.#say = say
  }

  step(what: string): void {
    this.#say(what)
  }

  /** A table begins. */
  rows(table: string): OnLines {
    let rows = 0
    let saidAtMs = performance.now()
    this.#say(`table ${table}`)
    return (more) => {
      rows += more
      if (performance.now() - saidAtMs < EVERY_MS) return
      saidAtMs = performance.now()
      this.#say(`table ${table}: ${numbered(rows, 'row')} so far`)
    }
  }
}
