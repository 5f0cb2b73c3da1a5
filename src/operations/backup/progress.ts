import { numbered } from '../../run/counted.ts'
import type { OnLines } from './files.ts'

const EVERY_MS = 5_000

/** Reports progress to a waiting user, line by line. */
export class Progress {
  readonly #say: (line: string) => void

  constructor(say: (line: string) => void) {
    this.#say = say
  }

  step(what: string): void {
    this.#say(what)
  }

  /** Reports the start of a table. The result reports its rows, at most every 5 s. */
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
