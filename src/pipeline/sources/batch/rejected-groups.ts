import { BATCH_LIMITS } from '../../../../schemas/api/batch.ts'
import { cutText } from '../../../run/cut-text.ts'
import type { RejectedGroup } from '../../declaration/source.ts'

/** More than a job lists, so that only a hostile chunk reaches the limit. */
const REASONS_MAX = 5 * BATCH_LIMITS.reasonsMax

/** Counts rejected lines by reason, in bounded memory. */
export class RejectedGroups {
  readonly #groups = new Map<string, { count: number; lines: number[] }>()

  get list(): RejectedGroup[] {
    return [...this.#groups].map(([reason, group]) => ({ reason, ...group }))
  }

  add(reason: string, line: number): void {
    let key = cutText(reason, BATCH_LIMITS.reasonMaxChars)
    if (!this.#groups.has(key) && this.#groups.size >= REASONS_MAX) key = ''
    const group = this.#groups.get(key)
    if (group === undefined) {
      this.#groups.set(key, { count: 1, lines: [line] })
      return
    }
    group.count++
    if (group.lines.length < BATCH_LIMITS.reasonLinesMax) group.lines.push(line)
  }
}
